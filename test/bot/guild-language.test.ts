import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { liveStatusMessages } from '../../src/db/schema/discord.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { createFeedStarter, settleFeeds } from '../support/bot/feeds.ts';
import { insertPenalties, insertServer } from '../support/database/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import { embedOf, textOf } from '../support/discord/exchange.ts';
import { waitFor } from '../support/wait.ts';

const { pl, en } = BOT_TEXTS;
const GUILD = '900000000000000001';
/** A guild that is no Community guild, which Discord takes for English. */
const harness = await startTestBot({
  bot: {
    language: 'pl',
    showsPresence: true,
    timings: { feedIntervalMs: 50, liveIntervalMs: 20, presenceIntervalMs: 20 },
  },
});
const { fake, db, poll, refreshServers } = harness;
const moderator = anActor({ isModerator: true });
const [one, two] = [await insertServer(db), await insertServer(db)];
await insertServer(db, { name: 'Offline' });
await refreshServers();

test('DISCORD_LOCALE sets the language of everything that the guild sees, earlier messages too', async () => {
  const messageId = '920000000000000001';
  const place = { channelId: '910000000000000099', guildId: moderator.guildId };
  await db.insert(liveStatusMessages).values({ messageId, ...place, locale: 'en-US' });
  await harness.connect();
  const edits = () =>
    fake.requests.filter(({ method, path }) => method === 'PATCH' && path.includes(messageId));
  await waitFor(() => edits().length > 0);
  expect(edits()[0]?.body).toMatchObject({ embeds: [{ title: pl.server.allServers }] });

  expect(embedOf(await fake.command('server', {}, moderator)).title).toBe(pl.server.allServers);
  expect(textOf(await fake.command('ban-check', {}, moderator))).toContain(en.refusals.notLinkedYourself);

  const feed = await createFeedStarter(harness)({ what: 'penalties' });
  await insertPenalties(db, [{ reason: 'aim' }]);
  await settleFeeds(harness);
  expect(feed.titles()[0]).toStartWith(`🔴 ${pl.record.types.ban}`);
});

test.each([
  ['pl', GUILD, undefined, 'pl'],
  ['en-US', GUILD, undefined, 'en'],
  ['pl', undefined, undefined, 'en'],
  ['en-US', GUILD, 'pl', 'pl'],
  ['pl', undefined, 'pl', 'pl'],
] as const)(
  'shows who plays, in a guild in %s that the settings name %p, with DISCORD_LOCALE %p, in %s',
  async (guildLocale, guildId, language, shown) => {
    fake.state.guildLocale = guildLocale;
    await poll(one.id, { playersCount: 12 });
    await poll(two.id, { playersCount: 1 });
    await harness.bot.stop();
    fake.gateway.statuses.length = 0;
    await harness.restart({ guildId, language });
    await waitFor(() => fake.gateway.statuses.length === 1);
    await poll(one.id, { playersCount: 0 });
    await waitFor(() => fake.gateway.statuses.length === 2);
    expect(fake.gateway.statuses).toEqual(
      shown === 'pl'
        ? ['13 graczy na 2 serwerach', '1 gracz na 2 serwerach']
        : ['13 players on 2 servers', '1 player on 2 servers'],
    );
  },
);
