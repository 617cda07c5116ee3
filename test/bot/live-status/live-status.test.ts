import { afterAll, beforeEach, describe, expect, setSystemTime, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import { listLiveStatusMessages } from '../../../src/queries/live-status-messages.ts';
import { removeServer, setServerHidden } from '../../../src/queries/servers/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createLiveMessages } from '../../support/bot/live-messages.ts';
import { insertServer } from '../../support/database/builders.ts';
import { messageOf, textOf } from '../../support/discord/exchange.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import { findButton } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;

const INTERVAL_MS = 300;
const harness = await startTestBot({ bot: { timings: { liveIntervalMs: INTERVAL_MS } } });
const { fake, db, poll } = harness;
const { moderator, serverId, addPlayer, pin, edits, failEdits, showsLastPlayer } =
  await createLiveMessages(harness);
const rows = () => listLiveStatusMessages(db);
let { bot } = harness;
await harness.connect();
beforeEach(async () => {
  fake.clearFaults();
  await restart();
});

afterAll(() => bot.stop());

/** Starts another bot in place of the one that runs. */
async function restart(...overrides: Parameters<typeof harness.startNext>): Promise<void> {
  await bot.stop();
  bot = await harness.startNext(...overrides);
}

describe('a live status message', () => {
  test('a live status message is posted in the language of the guild, and stored', async () => {
    const { exchange, posted } = await pin();
    expect(textOf(exchange)).toContain(en.refusals.pinned);
    expect(posted?.embeds[0]).toMatchObject({
      title: 'Live',
      footer: { text: pl.server.live },
    });
    expect(posted?.allowedMentions).toEqual({ parse: [] });
    expect(findButton(posted, pl.buttons.connect)?.url).toBe('https://play.example.org/connect/live');
    const [row] = await rows();
    expect(row).toMatchObject({
      messageId: posted?.id,
      channelId: moderator.channelId,
      guildId: moderator.guildId,
      serverId,
      locale: 'pl',
    });
    expect(await listAuditEntries(db)).toMatchObject([
      {
        action: 'live-message.posted',
        subject: `#${moderator.channelId}`,
        actor: 'discord-member',
        details: { discordId: moderator.user.id },
      },
    ]);
  });

  test('a live status message is edited after a poll that changed something, never twice within the interval, not without a change', async () => {
    const { posted } = await pin();
    const id = posted?.id ?? '';
    for (let change = 0; change < 4; change++) await addPlayer();
    await waitFor(() => showsLastPlayer(id));
    let players = 0;
    for (let change = 0; change < 4; change++) players = await addPlayer();
    await waitFor(() => showsLastPlayer(id));
    const times = edits(id).map(({ at }) => at);
    for (const [index, at] of times.entries()) {
      if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(INTERVAL_MS - 5);
    }
    const before = edits(id).length;
    // The same state with another ping and a later time: no visible change.
    await poll(serverId, {
      playersCount: players,
      pingMs: 99,
      players: [{ name: `P${players}`, score: players }],
    });
    await harness.refreshServers();
    await Bun.sleep(2 * INTERVAL_MS);
    expect(edits(id).length).toBe(before);
  });

  test('shows all servers when pinned from the list', async () => {
    const { posted } = await pin({ ...moderator, guildLocale: 'en-US' }, '');
    expect(posted?.embeds[0]).toMatchObject({
      title: en.server.allServers,
      footer: { text: en.server.live },
    });
    const players = await addPlayer();
    await waitFor(
      () => fake.messages.get(posted?.id ?? '')?.embeds[0]?.description?.includes(`${players}/32`) ?? false,
    );
  });

  test('goes on when the system clock ran an hour ahead and was set back', async () => {
    const { posted } = await pin();
    const id = posted?.id ?? '';
    try {
      setSystemTime(new Date(Date.now() + 3_600_000));
      await addPlayer();
      await waitFor(() => showsLastPlayer(id));
    } finally {
      setSystemTime();
    }
    await addPlayer();
    await waitFor(() => showsLastPlayer(id));
  });

  test('survives a restart of the bot', async () => {
    const { posted } = await pin();
    await bot.stop();
    await addPlayer();
    await restart();
    await waitFor(() => showsLastPlayer(posted?.id ?? ''));
  });

  test('replaces the earlier one of the same server in the channel, and no other', async () => {
    const here = { ...moderator, channelId: '910000000000000070' };
    const there = { ...moderator, channelId: '910000000000000071' };
    const [list, elsewhere] = [await pin(here, ''), await pin(there)];
    const posted = () => fake.messagesIn(here.channelId).filter(({ type }) => type === 0);
    const ids = [];
    for (const name of ['live', 'live', '']) ids.push((await pin(here, name)).posted?.id);
    // Two at the same time.
    await Promise.all([pin(here), pin(here)]);
    expect(posted().map(({ id }) => id)).toEqual([ids[2] ?? '', expect.any(String)]);
    const kept = (await rows()).map(({ messageId }) => messageId);
    expect(kept).toEqual(expect.arrayContaining([...posted(), elsewhere.posted].map((it) => it?.id ?? '')));
    expect(kept).not.toContain(list.posted?.id);
    const [, last] = posted();
    await addPlayer();
    await waitFor(() => showsLastPlayer(last?.id ?? ''));
  });

  test('waits while its server is hidden', async () => {
    const { id, slug } = await insertServer(db, { slug: 'hidden', name: 'Hidden' });
    await poll(id, { playersCount: 1 });
    await harness.refreshServers();
    const { posted } = await pin({ ...moderator, guildLocale: 'en-US' }, slug);
    const messageId = posted?.id ?? '';
    await setServerHidden(db, slug, { isHidden: true, actor: 'operator' });
    await harness.refreshServers();
    const before = edits(messageId).length;
    // Another message is edited meanwhile.
    const other = (await pin()).posted?.id ?? '';
    await addPlayer();
    await waitFor(() => showsLastPlayer(other));
    expect(edits(messageId)).toHaveLength(before);
    await setServerHidden(db, slug, { isHidden: false, actor: 'operator' });
    await poll(id, { playersCount: 2, players: [{ name: 'Back', score: 1 }] });
    await harness.refreshServers();
    await waitFor(() => JSON.stringify(fake.messages.get(messageId)?.embeds).includes('Back'));
  });

  test('says that its server was removed, even when no bot ran meanwhile', async () => {
    const { id, slug } = await insertServer(db, { slug: 'removed', name: 'Removed' });
    await harness.refreshServers();
    const { posted } = await pin({ ...moderator, guildLocale: 'en-US' }, slug);
    expect((await rows()).find(({ messageId }) => messageId === posted?.id)?.serverId).toBe(id);
    await bot.stop();
    await removeServer(db, slug, { actor: 'operator' });
    await harness.refreshServers();
    await restart();
    const shown = () => fake.messages.get(posted?.id ?? '')?.embeds[0];
    await waitFor(() => shown()?.description?.includes(en.server.noLongerListed));
    expect(shown()?.footer).toBeUndefined();
    await waitFor(async () => !(await rows()).some(({ messageId }) => messageId === posted?.id));
  });

  test('a double click posts one live status message, and a click after it was deleted another', async () => {
    const actor = { ...moderator, guildLocale: 'en-US', channelId: '910000000000000079' };
    const message = messageOf(await fake.command('server', { name: 'live' }, actor));
    const press = () => fake.click(message, en.buttons.pin, actor);
    const posted = () => fake.messagesIn(actor.channelId).filter(({ type }) => type === 0);
    const presses = await Promise.all([press(), press()]);
    for (const { message } of presses) {
      expect(message?.embeds[0]?.description).toContain(en.refusals.pinned);
    }
    expect(posted()).toHaveLength(1);
    fake.messages.delete(posted()[0]?.id ?? '');
    await press();
    expect(posted()).toHaveLength(1);
  });

  test('ends cleanly when the message or its channel is gone', async () => {
    const first = await pin();
    const second = await pin({ ...moderator, channelId: '910000000000000009' });
    fake.goneMessages.add(first.posted?.id ?? '');
    fake.goneChannels.add('910000000000000009');
    await addPlayer();
    await waitFor(async () => {
      const ids = (await rows()).map(({ messageId }) => messageId);
      return !ids.includes(first.posted?.id ?? '') && !ids.includes(second.posted?.id ?? '');
    });
    const attempts = edits(first.posted?.id ?? '').length;
    await addPlayer();
    await Bun.sleep(2 * INTERVAL_MS);
    expect(edits(first.posted?.id ?? '').length).toBe(attempts);

    const third = await pin();
    fake.fail({ matches: /^PATCH \/channels/, times: 20, response: refuse(503) });
    await addPlayer();
    await waitFor(() => edits(third.posted?.id ?? '').some(({ status }) => status === 503));
    fake.clearFaults();
    await waitFor(() => showsLastPlayer(third.posted?.id ?? ''));
    expect((await rows()).map(({ messageId }) => messageId)).toContain(third.posted?.id ?? '');
  });

  test('opens its thread again, which Discord has archived meanwhile', async () => {
    const thread = { ...moderator, channelId: '910000000000000077' };
    const { posted } = await pin(thread);
    fake.archivedThreads.add(thread.channelId);
    await addPlayer();
    await waitFor(() => showsLastPlayer(posted?.id ?? ''));
    expect(fake.archivedThreads.has(thread.channelId)).toBe(false);
  });

  test('goes on after four refusals in a row, and ends at the fifth', async () => {
    await restart({ timings: { liveIntervalMs: 10 } });
    const { posted } = await pin();
    const id = posted?.id ?? '';
    const forbid = (times: number) => failEdits(id, refuse(403, 50_013), times);
    forbid(4);
    await addPlayer();
    await waitFor(() => showsLastPlayer(id));
    forbid(5);
    await addPlayer();
    await waitFor(async () => !(await rows()).some(({ messageId }) => messageId === id));
    expect(edits(id).filter(({ status }) => status === 403)).toHaveLength(9);
    const [told] = fake.directMessagesTo(moderator.user.id);
    expect(told?.embeds[0]?.description).toStartWith(pl.server.updatesForbidden(`<#${moderator.channelId}>`));
  });

  test('ends in a thread that was archived and locked, which the bot may not open', async () => {
    await restart({ timings: { liveIntervalMs: 10 } });
    const thread = { ...moderator, channelId: '910000000000000076' };
    const { posted } = await pin(thread);
    fake.archivedThreads.add(thread.channelId);
    fake.fail({
      matches: new RegExp(`^PATCH /channels/${thread.channelId}$`),
      times: 1000,
      response: refuse(403, 50_013),
    });
    await addPlayer();
    await waitFor(async () => !(await rows()).some(({ messageId }) => messageId === posted?.id));
  });

  test('ends without the id of the person who pinned it in the log, whom nobody could tell', async () => {
    await restart({ timings: { liveIntervalMs: 10 } });
    const { posted } = await pin();
    failEdits(posted?.id ?? '', refuse(403, 50_013), 5);
    fake.fail({ matches: /^POST \/users\/@me\/channels/, response: refuse(403, 50_007) });
    await addPlayer();
    const isAboutMessage = ({ msg }: { msg: string }) =>
      msg.includes('could not be notified by direct message');
    const line = await waitFor(() => harness.lines.find(isAboutMessage));
    // The service's own logger writes no bodies of requests.
    expect(JSON.stringify({ ...line, err: undefined })).not.toContain(moderator.user.id);
  });

  test('a live status message that could not be stored is removed', async () => {
    await db.execute(sql`alter table live_status_messages add constraint refused check (false) not valid`);
    const { exchange } = await pin({ ...moderator, channelId: '910000000000000078' });
    await db.execute(sql`alter table live_status_messages drop constraint refused`);
    expect(textOf(exchange)).toMatch(new RegExp(en.refusals.failed('[0-9a-f]{8}')));
    expect(fake.messagesIn('910000000000000078').filter(({ type }) => type === 0)).toEqual([]);
  });

  test('goes on after a single response of 401', async () => {
    const { posted } = await pin();
    failEdits(posted?.id ?? '', refuse(401));
    await addPlayer();
    await waitFor(() => showsLastPlayer(posted?.id ?? ''));
    expect(edits(posted?.id ?? '').map(({ status }) => status)).toContain(401);
  });

  test('a live status message is edited again soon after a refresh without changes failed', async () => {
    const refreshMs = 2000;
    await restart({ timings: { liveIntervalMs: 50, liveRefreshMs: refreshMs } });
    const { posted } = await pin();
    const id = posted?.id ?? '';
    failEdits(id, refuse(401));
    await waitFor(() => edits(id).some(({ status }) => status === 200));
    const [failed, repeated] = edits(id);
    expect([failed?.status, repeated?.status]).toEqual([401, 200]);
    expect((repeated?.at ?? 0) - (failed?.at ?? 0)).toBeLessThan(refreshMs / 2);
  });

  test('no live status message is posted where the bot may not write', async () => {
    const { exchange, posted } = await pin({ ...moderator, locale: 'pl', appPermissions: '1024' });
    expect(textOf(exchange)).toContain(pl.refusals.cannotPost);
    expect(posted).toBeUndefined();
    // The permissions in the interaction may be out of date: Discord's response decides.
    for (const response of [refuse(403, 50_013), refuse(400, 50_008), refuse(400, 160_005)]) {
      fake.fail({ matches: /^POST \/channels/, response });
      const refused = await pin({ ...moderator, guildLocale: 'en-US' });
      expect(textOf(refused.exchange)).toContain(en.refusals.cannotPost);
    }
  });

  test('a live status message leaves out a link that Discord refuses (localhost)', async () => {
    await restart({ publicUrl: 'http://localhost:3000' });
    const { posted } = await pin({ ...moderator, guildLocale: 'en-US' });
    expect(findButton(posted, en.buttons.players)).toBeDefined();
    expect(findButton(posted, en.buttons.connect)).toBeUndefined();
  });

  test('leaves its edits to the next bot when its own stops while Discord slows it down', async () => {
    const timings = { liveIntervalMs: 50 };
    await restart({ timings });
    harness.lines.length = 0;
    const id = (await pin()).posted?.id ?? '';
    failEdits(id, slowDown(1));
    await addPlayer();
    await waitFor(() => edits(id).length === 1);
    await bot.stop();
    await addPlayer();
    // By the time the next bot may edit, the first one would have sent its edit, which is outdated.
    failEdits(id, slowDown(2));
    bot = await harness.startNext({ timings });
    await waitFor(() => showsLastPlayer(id));
    await bot.stop();
    expect(edits(id)).toHaveLength(3);
    const failures = harness.lines.filter(({ msg }) => msg.includes('editing a live status message failed'));
    expect(failures).toEqual([]);
  });

  test('a live list is not edited when only scores have changed, which it does not show', async () => {
    await restart({ timings: { liveIntervalMs: 50 } });
    const list = (await pin(moderator, '')).posted?.id ?? '';
    const card = (await pin()).posted?.id ?? '';
    const score = async (playersCount: number, score: number) => {
      await poll(serverId, { playersCount, players: [{ name: 'P1', score }] });
      await harness.refreshServers();
      await waitFor(() => JSON.stringify(fake.messages.get(card)?.embeds).includes(`  ${score}`));
    };
    // Whatever the earlier tests left is shown first.
    await score(1, 10);
    await waitFor(() => fake.messages.get(list)?.embeds[0]?.description?.includes(' 1/32'));
    const before = edits(list).length;
    for (const points of [20, 30]) await score(1, points);
    expect(edits(list)).toHaveLength(before);
    await poll(serverId, { playersCount: 2, players: [{ name: 'P1', score: 30 }] });
    await harness.refreshServers();
    await waitFor(() => edits(list).length === before + 1);
  });
});
