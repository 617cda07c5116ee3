import { beforeAll, describe, expect, test } from 'bun:test';
import type { Browser } from 'playwright-core';
import { recordExpiredPenalties } from '../../../../src/queries/events.ts';
import { changePenalty, lasting, type StartedFeed, startFeedBot } from '../../../support/bot/feeds.ts';
import { insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { messageOf } from '../../../support/discord/exchange.ts';
import type { FakeMessage } from '../../../support/discord/messages.ts';
import { waitFor } from '../../../support/wait.ts';
import { savePicture } from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH, launchChromium } from '../../../support/web/chromium.ts';
import { renderDiscordPage } from '../../../tools/pictures/discord-page.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: pictures of feeds, since there is no Chromium here');

let aheadMs = 0;
const { fake, db, bot, poll, startFeed, settle } = await startFeedBot({
  now: () => new Date(Date.now() + aheadMs),
});
const role = { role: { id: '950000000000000001', name: 'Players', mentionable: true } };

describe.skipIf(!isPossible).each(['en-US', 'pl'])('every message of feeds in %s', (guildLocale) => {
  let browser: Browser;
  let penaltyFeed: StartedFeed;
  let serverFeed: StartedFeed;
  let serverIds: number[];
  beforeAll(async () => {
    browser = await launchChromium();
    const names = ['Only Mirage #1', 'Retake', 'Arena'].map((name) => `${name} ${guildLocale}`);
    serverIds = [];
    for (const name of names) serverIds.push((await insertServer(db, { name })).id);
    await pollAll(3);
    penaltyFeed = await startFeed({ what: 'penalties' }, { guildLocale });
    serverFeed = await startFeed({ what: 'servers', after: 0, players: 10, role }, { guildLocale });
    await bot.wakeFeeds();
  });

  async function pollAll(count: number | 'missed', ids = serverIds): Promise<void> {
    await poll(ids, count === 'missed' ? undefined : { playersCount: count });
    await bot.wakeFeeds();
  }

  /** Draws a message, and fails if anything exceeds its width. */
  async function take(name: string, message: FakeMessage | undefined): Promise<void> {
    if (!message) throw new Error(`there is no message ${name}`);
    const page = await browser.newPage({ viewport: { width: 572, height: 100 } });
    await page.setContent(renderDiscordPage(message, { botName: 'Community' }));
    await page.evaluate('document.fonts.ready');
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(572);
    await savePicture(page, `feed-${name}-${guildLocale}`, { fullPage: true });
    await page.close();
  }

  test('penalties: new, lifted, expired, removed, and a summary', async () => {
    const createdAt = new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000);
    const rows = await insertPenalties(
      db,
      (['ban', 'mute', 'gag', 'silence', 'warn'] as const).map((type) => ({
        type,
        reason: 'Wallhack on de_mirage',
        ...lasting(1440, createdAt),
        serverId: serverIds[0] ?? 0,
      })),
    );
    const [, lifted, expired, removed] = rows;
    await settle();
    await changePenalty(db, lifted, {
      status: 'UNBANNED',
      liftedAt: new Date(),
      liftedByName: 'Ola',
      liftReason: 'Appeal',
    });
    await changePenalty(db, expired, { endsAt: new Date(createdAt.getTime() + 30_000) });
    await recordExpiredPenalties(db, new Date());
    await changePenalty(db, removed, { goneAt: new Date() });
    await insertPenalties(
      db,
      Array.from({ length: 500 }, (_, number) => ({
        type: number % 5 === 0 ? ('gag' as const) : ('ban' as const),
      })),
    );
    await settle();
    const messages = penaltyFeed.messages();
    expect(messages).toHaveLength(6);
    const names = ['new', 'lifted', 'expired', 'removed', 'warning', 'summary'];
    for (const [at, name] of names.entries()) await take(`penalty-${name}`, messages[at]);
  });

  test('servers: down and back, one and several, and players with the role', async () => {
    const [first = 0] = serverIds;
    await pollAll('missed', [first]);
    await pollAll('missed', [first]);
    await pollAll(3, [first]);
    // Servers that change within a minute are one message.
    aheadMs += 60_000;
    await pollAll('missed');
    await pollAll('missed');
    await pollAll(3);
    await pollAll(12, [first]);
    const messages = serverFeed.messages();
    expect(messages).toHaveLength(5);
    const names = ['down', 'up', 'down-many', 'up-many', 'players'];
    for (const [at, name] of names.entries()) await take(`server-${name}`, messages[at]);
  });

  test('the responses of /feed, and the message to the person who started a lost feed', async () => {
    const manager = { ...penaltyFeed.manager, locale: guildLocale };
    await take('list', messageOf(await fake.command('feed list', {}, manager)));
    const mute = { ...manager, appPermissions: '0' };
    await take('refused', messageOf(await fake.command('feed start', { what: 'servers' }, mute)));
    await take('stopped', messageOf(await fake.command('feed stop', { what: 'penalties' }, manager)));
    fake.goneChannels.add(serverFeed.channelId);
    await pollAll(2);
    await pollAll('missed');
    await pollAll('missed');
    const told = () => fake.directMessagesTo(serverFeed.manager.user.id);
    await waitFor(() => told().length === 1);
    await take('switched-off', told()[0]);
  });
});
