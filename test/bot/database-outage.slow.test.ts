import { expect, test } from 'bun:test';
import type { BotDeps } from '../../bot/bot.ts';
import { openDatabase } from '../../src/db/database.ts';
import { createServerList } from '../../src/live/server-list.ts';
import { saveLiveStatusMessage } from '../../src/queries/discord/live-status-messages.ts';
import { setServerHidden } from '../../src/queries/servers/servers.ts';
import { startTestBot } from '../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertServer } from '../support/database/builders.ts';
import { startDatabaseProxy } from '../support/database/database-proxy.ts';
import { anActor } from '../support/discord/actor.ts';
import { textOf } from '../support/discord/exchange.ts';
import { isEphemeral } from '../support/discord/messages.ts';
import { waitFor } from '../support/wait.ts';

const { fake, deps, db, url, startNext } = await startTestBot();
const moderator = anActor({ isModerator: true });

/** A bot that reaches the database through a proxy. */
async function startBehindProxy(timings: BotDeps['timings'] = {}) {
  const proxy = await startDatabaseProxy(url);
  const database = openDatabase(proxy.url, { max: 4 });
  const servers = await createServerList(database.db, deps.log);
  const bot = await startNext({ database, servers, timings });
  async function stop(): Promise<void> {
    await bot.stop();
    servers.stop();
    await database.close({ timeoutSeconds: 1 });
  }
  return { proxy, bot, stop };
}

test('the bot without its database lists servers from memory, says so of records, and recovers', async () => {
  await insertServer(db, { name: 'Mirage', slug: 'mirage' });
  await insertPenalties(db, [{}]);
  const { proxy, bot, stop } = await startBehindProxy();
  const check = () => fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
  const isBanned = async () => textOf(await check()).includes('⛔');
  expect(await isBanned()).toBe(true);

  for (const takeAway of [proxy.cut, proxy.freeze]) {
    takeAway();
    const list = await fake.command('server', {}, moderator);
    expect(textOf(list)).toContain('Mirage');
    const refused = await check();
    // Replied to at once if connections are refused, deferred in time if they hang.
    expect([4, 5]).toContain(refused.callback ?? 0);
    expect(isEphemeral(refused.message)).toBe(true);
    expect(bot.health().state).toBe('ready');
    proxy.restore();
    await waitFor(() => (refused.message?.embeds.length ?? 0) > 0);
    expect(textOf(refused)).not.toContain('ECONN');
    await waitFor(isBanned, { everyMs: 200 });
  }

  // Each of its two rounds of queries stays within the limit of one query; together they exceed it.
  proxy.slow(1200);
  const late = await check();
  await waitFor(() => (late.message?.embeds.length ?? 0) > 0);
  expect(textOf(late)).toContain('can’t be read right now');
  proxy.restore();
  await waitFor(isBanned, { everyMs: 200 });
  await stop();
});

test('a hidden server does not keep other live status messages from being edited without the database', async () => {
  const { id } = await insertServer(db, { name: 'Hidden', slug: 'hidden' });
  const { id: shownId } = await insertServer(db, { name: 'Shown', slug: 'shown' });
  const place = {
    channelId: '940000000000000001',
    guildId: null,
    locale: 'en-US',
    pinnedBy: '1',
    pausedAt: null,
  };
  const [hidden, shown] = ['940000000000000002', '940000000000000003'] as const;
  const actor = 'operator';
  await saveLiveStatusMessage(db, { ...place, messageId: hidden, serverId: id });
  await saveLiveStatusMessage(db, { ...place, messageId: shown, serverId: shownId });
  await setServerHidden(db, 'hidden', { isHidden: true, actor });
  fake.fail({ matches: /^PATCH /, response: () => Response.json({ id: shown }), times: 1_000_000 });
  const edits = () => fake.requests.filter(({ path }) => path.endsWith(`/messages/${shown}`)).length;
  const { proxy, stop } = await startBehindProxy({ liveIntervalMs: 50, liveRefreshMs: 100 });
  await waitFor(edits);
  for (const takeAway of [proxy.cut, proxy.freeze]) {
    takeAway();
    const before = edits();
    await waitFor(() => edits() > before + 2);
    proxy.restore();
  }
  await stop();
});
