import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { createBot } from '../../bot/bot.ts';
import { listLiveStatusMessages } from '../../src/queries/live-status-messages.ts';
import { startTestBot } from '../support/bot.ts';
import { insertServer } from '../support/builders.ts';
import { anActor } from '../support/discord/actor.ts';
import { findButton } from '../support/discord/messages.ts';
import { waitFor } from '../support/wait.ts';

const INTERVAL_MS = 300;
const harness = await startTestBot({ bot: { timings: { liveIntervalMs: INTERVAL_MS } } });
const { fake, db, poll } = harness;
const moderator = anActor({ isModerator: true, guildLocale: 'pl' });
let serverId = 0;
let players = 0;

const edits = (messageId: string) =>
  fake.requests.filter(({ method, path }) => method === 'PATCH' && path.endsWith(`/messages/${messageId}`));
const rows = () => listLiveStatusMessages(db);

/** Has one more player on the server, in memory too. */
async function addPlayer(): Promise<number> {
  players += 1;
  await poll(serverId, { playersCount: players, players: [{ name: `P${players}`, score: players }] });
  await harness.refreshServers();
  return players;
}

async function pin(actor = moderator, name = 'live') {
  const { message } = await fake.command('server', name === '' ? {} : { name }, actor);
  if (!message) throw new Error('no message');
  const before = new Set(fake.messages.keys());
  const label =
    actor.locale === 'pl' || actor.guildLocale === 'pl' ? 'Przypnij tu stan na żywo' : 'Pin live status here';
  const answer = await fake.press(message, findButton(message, label)?.custom_id ?? '', actor);
  const posted = [...fake.messages.values()].find(
    ({ id, channel_id: channel, type }) => !before.has(id) && type === 0 && channel === actor.channelId,
  );
  return { answer, posted };
}

beforeAll(async () => {
  serverId = (await insertServer(db, { slug: 'live', name: 'Live' })).id;
  await addPlayer();
  await harness.connect();
});
beforeEach(() => {
  fake.clearFaults();
});

describe('a live status message', () => {
  test('is posted into the channel in the language of the guild, and stored', async () => {
    const { answer, posted } = await pin();
    expect(answer.message?.embeds[0]?.description).toContain('keeps itself up to date');
    expect(posted?.embeds[0]).toMatchObject({ title: 'Live', footer: { text: 'Aktualizuje się samo' } });
    expect(posted?.allowedMentions).toEqual({ parse: [] });
    expect(findButton(posted, 'Połącz')?.url).toBe('https://play.example.org/connect/live');
    const [row] = await rows();
    expect(row).toMatchObject({
      messageId: posted?.id,
      channelId: moderator.channelId,
      guildId: moderator.guildId,
      serverId,
      locale: 'pl',
    });
  });

  test('is edited after a poll that changed something, never twice within the interval, not without a change', async () => {
    const { posted } = await pin();
    const id = posted?.id ?? '';
    for (let change = 0; change < 4; change++) await addPlayer();
    await waitFor(() => JSON.stringify(fake.messages.get(id)?.embeds).includes(`P${players}`));
    for (let change = 0; change < 4; change++) await addPlayer();
    await waitFor(() => JSON.stringify(fake.messages.get(id)?.embeds).includes(`P${players}`));
    const times = edits(id).map(({ at }) => at);
    for (const [index, at] of times.entries()) {
      if (index > 0) expect(at - (times[index - 1] ?? 0)).toBeGreaterThanOrEqual(INTERVAL_MS - 5);
    }
    const before = edits(id).length;
    // The same answer, another ping and a later time: nothing a reader would miss.
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
    expect(posted?.embeds[0]).toMatchObject({ title: 'Servers', footer: { text: 'Updated by itself' } });
    await addPlayer();
    await waitFor(
      () => fake.messages.get(posted?.id ?? '')?.embeds[0]?.description?.includes(`${players}/32`) ?? false,
    );
  });

  test('survives a restart of the bot', async () => {
    const { posted } = await pin();
    await harness.bot.stop();
    await addPlayer();
    const again = createBot({ ...harness.deps });
    again.start();
    await waitFor(() => again.health().state === 'ready');
    await waitFor(() => JSON.stringify(fake.messages.get(posted?.id ?? '')?.embeds).includes(`P${players}`));
    await again.stop();
  });

  test('ends cleanly when the message or its channel is gone', async () => {
    const bot = createBot({ ...harness.deps });
    bot.start();
    await waitFor(() => bot.health().state === 'ready');
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
    fake.fail({ matches: /^PATCH \/channels/, times: 20, answer: () => new Response('{}', { status: 503 }) });
    await addPlayer();
    await waitFor(() => edits(third.posted?.id ?? '').some(({ status }) => status === 503));
    fake.clearFaults();
    await waitFor(
      () => JSON.stringify(fake.messages.get(third.posted?.id ?? '')?.embeds).includes(`P${players}`),
      { limitMs: 12_000 },
    );
    expect((await rows()).map(({ messageId }) => messageId)).toContain(third.posted?.id ?? '');
    await bot.stop();
  }, 25_000);

  test('is not posted where the bot may not write', async () => {
    const bot = createBot({ ...harness.deps });
    bot.start();
    await waitFor(() => bot.health().state === 'ready');
    const { answer, posted } = await pin({ ...moderator, locale: 'pl', appPermissions: '1024' });
    expect(answer.message?.embeds[0]?.description).toContain('Nie mogę tu wysyłać wiadomości.');
    expect(posted).toBeUndefined();
    // What the interaction says may be behind: Discord has the last word.
    const refuse = () => Response.json({ message: 'Missing Permissions', code: 50013 }, { status: 403 });
    fake.fail({ matches: /^POST \/channels/, answer: refuse });
    const refused = await pin({ ...moderator, guildLocale: 'en-US' });
    expect(refused.answer.message?.embeds[0]?.description).toContain('I may not send messages here.');
    await bot.stop();
  });
});
