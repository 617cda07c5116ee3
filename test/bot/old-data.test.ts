import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { discordFeedServers } from '../../src/db/schema/discord.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { createFeedStarter } from '../support/bot/feeds.ts';
import { insertServer } from '../support/database/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import { embedOf } from '../support/discord/exchange.ts';
import { findButton } from '../support/discord/messages.ts';
import { waitFor } from '../support/wait.ts';

const MINUTE_MS = 60_000;
const POLLED_AT = new Date('2026-11-21T10:00:00Z');
const { server: words, buttons } = BOT_TEXTS.en;
const GREY = 0x747f8d;
let now = POLLED_AT;
const harness = await startTestBot({
  bot: {
    now: () => now,
    showsPresence: true,
    timings: { presenceIntervalMs: 20, liveIntervalMs: 50, feedIntervalMs: 50 },
  },
  staleAfterMs: MINUTE_MS,
});
const { fake, db, poll } = harness;
const { id } = await insertServer(db, { slug: 'mirage', name: 'Mirage' });
await poll(id, { playersCount: 3, players: [{ name: 'Ala', score: 1 }] }, POLLED_AT);
await harness.connect();
const moderator = anActor({ isModerator: true, isManager: true });

test('what nobody has checked for long is grey everywhere, and goes on with the next poll', async () => {
  const showList = async () => embedOf(await fake.command('server', {}, moderator));
  const showCard = () => fake.command('server', { name: 'mirage' }, moderator);
  await fake.click((await showCard()).message, buttons.pin, moderator);
  const [live] = fake.postsIn(moderator.channelId);
  const feed = await createFeedStarter(harness)({ what: 'servers', after: 0, players: 3 });
  await waitFor(async () => (await db.select().from(discordFeedServers)).length === 1);
  const latestStatus = () => fake.gateway.statuses.at(-1);
  await waitFor(() => latestStatus() === words.presence(3, 1));

  now = new Date(POLLED_AT.getTime() + MINUTE_MS);
  expect(embedOf(await showCard()).color).not.toBe(GREY);
  now = new Date(POLLED_AT.getTime() + MINUTE_MS + 1);
  const seconds = POLLED_AT.getTime() / 1000;
  const since = words.uncheckedSince(`<t:${seconds}:f> (<t:${seconds}:R>)`);
  for (const embed of [embedOf(await showCard()), await showList()]) {
    expect(embed.color).toBe(GREY);
    expect(embed.description).toContain(`⚪ `);
    expect(embed.description).toContain(since);
    expect(JSON.stringify(embed)).not.toContain('Ala');
  }
  expect((await showList()).description).toContain(`⚪ **Mirage** · ${words.unchecked.toLowerCase()}`);
  expect((await fake.autocomplete('server', 'name', '')).choices?.[0]?.name).toBe(
    `Mirage · ${words.unchecked.toLowerCase()}`,
  );
  const shown = () => fake.messages.get(live?.id ?? '');
  await waitFor(() => shown()?.embeds[0]?.description?.includes(since));
  expect(findButton(shown(), buttons.connect)).toBeUndefined();
  await waitFor(() => latestStatus() === words.uncheckedSince('21 Nov, 10:00 UTC'));
  await harness.bot.wakeFeeds();
  expect(feed.messages()).toEqual([]);

  await poll(id, { playersCount: 2 }, now);
  await waitFor(() => latestStatus() === words.presence(2, 1));
  await waitFor(() => findButton(shown(), buttons.connect));
  await harness.bot.wakeFeeds();
  expect(feed.messages()).toEqual([]);
});

test('names the month in full in Polish when nobody has checked', async () => {
  now = new Date('2026-11-21T10:42:00Z');
  await poll(id, { playersCount: 3 }, now);
  now = new Date('2026-11-21T11:42:00Z');
  await harness.restart({ language: 'pl' });
  await waitFor(() => fake.gateway.statuses.at(-1) === 'Brak danych od 21 listopada 10:42 UTC');
});
