import { beforeAll, describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { messageOf } from '../../support/discord/exchange.ts';
import { findComponent, isEphemeral } from '../../support/discord/messages.ts';
import { waitFor } from '../../support/wait.ts';

const { en, pl } = BOT_TEXTS;

const harness = await startTestBot();
const { fake, db, url } = harness;
const moderator = anActor({ isModerator: true });
const polish = anActor({ isModerator: true, locale: 'pl' });
const member = anActor({ userId: '700000000000000009' });
const COMMANDS = ['ban-check', 'lookup'];

beforeAll(async () => {
  await insertUser(db, 1, {
    nickname: 'Łukasz *pro*',
    discordId: '700000000000000001',
    discordUsername: 'secret_lukasz',
    hidesDiscord: true,
    signedInAt: new Date('2026-11-20T10:00:00Z'),
  });
  await insertUser(db, 2, { nickname: 'Ola', signedInAt: new Date('2026-11-19T10:00:00Z') });
  await insertUser(db, 9, { nickname: 'Curious', discordId: member.user.id });
  await insertPenalties(db, [
    { playerSteamId: aSteamId(1), playerName: 'Lukasz old', createdAt: new Date('2026-10-01T10:00:00Z') },
    { playerSteamId: aSteamId(3), playerName: 'Twin', type: 'mute' },
    { playerSteamId: aSteamId(4), playerName: 'twin', type: 'mute' },
    { playerSteamId: aSteamId(5), playerName: `${'N'.repeat(120)} long`, type: 'mute' },
  ]);
  await harness.connect();
});

describe.each(COMMANDS)('/%s player:', (command) => {
  const suggest = (typed: string, actor = moderator) =>
    fake.autocomplete(command, 'player', typed, actor).then(({ choices }) => choices);

  test('completes known nicknames, with and without account, whatever diacritics', async () => {
    expect(await suggest('LUKASZ')).toEqual([
      { name: `⛔ Łukasz *pro* · ${aSteamId(1)}`, value: aSteamId(1) },
    ]);
    expect(await suggest('old')).toEqual([
      { name: `⛔ Łukasz *pro* (Lukasz old) · ${aSteamId(1)}`, value: aSteamId(1) },
    ]);
    expect((await suggest('ol'))?.map(({ value }) => value)).toContain(aSteamId(2));
    expect((await suggest('twin'))?.map(({ value }) => value).toSorted()).toEqual([aSteamId(3), aSteamId(4)]);
    const [long] = (await suggest('NNNN')) ?? [];
    expect(long?.name.length).toBeLessThanOrEqual(100);
    expect(long?.name).toEndWith(`… · ${aSteamId(5)}`);
    expect(await suggest('')).toEqual([]);
    expect(await suggest('nobody of this name')).toEqual([]);
  });

  test('reveals nothing about Discord accounts', async () => {
    expect(JSON.stringify(await suggest('lukasz'))).not.toContain('secret');
    expect(await suggest('secret_lukasz')).toEqual([]);
    expect(await suggest('700000000000000001')).toEqual([]);
  });

  test('suggests nobody to members, nor to moderators in a direct message', async () => {
    expect(await suggest('lukasz', member)).toEqual([]);
    expect(await suggest('lukasz', anActor({ isModerator: true, guildId: undefined }))).toEqual([]);
  });

  test('responds with the player that was chosen, or is called so', async () => {
    for (const player of [aSteamId(1), 'lukasz *PRO*', 'Lukasz old']) {
      const { message } = await fake.command(command, { player }, moderator);
      expect(isEphemeral(message)).toBe(true);
      expect(JSON.stringify(message?.embeds)).toContain(aSteamId(1));
    }
  });

  test('says so when nobody or several are called so', async () => {
    const text = async (player: string, actor = moderator) =>
      (await fake.command(command, { player }, actor)).message?.embeds[0]?.description;
    for (const name of ['nobody', 'Luka']) expect(await text(name)).toBe(en.refusals.playerNotFound(name));
    expect(await text('nikt', polish)).toBe(pl.refusals.playerNotFound('nikt'));
    expect(await text('twin', polish)).toBe(pl.refusals.severalPlayers('twin'));
  });

  test('offers the players of one name in a menu, and shows whom the moderator chooses', async () => {
    for (const show of [false, true]) {
      const refusal = await fake.command(command, { player: 'TWIN', show }, moderator);
      expect(isEphemeral(refusal.message)).toBe(true);
      expect(refusal.message?.embeds[0]?.description).toBe(en.refusals.severalPlayers('TWIN'));
      const menu = findComponent(refusal.message, /\.player:/);
      expect(menu?.options?.map(({ label, value }) => [label, value]).toSorted()).toEqual([
        [`Twin · ${aSteamId(3)}`, aSteamId(3)],
        [`twin · ${aSteamId(4)}`, aSteamId(4)],
      ]);
      const choose = (actor: Actor) =>
        fake.select(messageOf(refusal), menu?.custom_id ?? '', [aSteamId(4)], actor);
      expect(JSON.stringify((await choose(member)).message?.embeds)).toContain(
        en.refusals.moderateMembersRequired(fake.mention('ban-check')),
      );
      const chosen = await choose(moderator);
      expect([chosen.callback, isEphemeral(chosen.message)]).toEqual(show ? [4, false] : [7, true]);
      expect(chosen.message?.embeds[0]?.author?.name).toBe('twin');
    }
  });

  test('refuses members in the same words whether or not anybody is called so', async () => {
    const texts = new Set<string>();
    for (const player of ['Ola', 'nobody', aSteamId(2), aSteamId(8)]) {
      const { message } = await fake.command(command, { player }, member);
      texts.add(JSON.stringify(message?.embeds));
    }
    expect(texts.size).toBe(1);
    expect([...texts][0]).toContain(en.refusals.moderateMembersRequired(fake.mention('ban-check')));
    const own = await fake.command(command, { player: aSteamId(9) }, member);
    expect(JSON.stringify(own.message?.embeds)).toContain('Curious');
  });
});

test('a Discord user wins over a SteamID, and that over a nickname', async () => {
  const chosen = await fake.command('ban-check', { steamid: aSteamId(3), player: 'Ola' }, moderator);
  expect(chosen.message?.embeds[0]?.author?.name).toBe('Twin');
  const user = { user: { ...member.user } };
  const linked = await fake.command('lookup', { user, player: 'Ola' }, moderator);
  expect(linked.message?.embeds[0]?.title).toBe('Curious');
});

test('suggests nothing, in time, while the database is away, and suggests again afterwards', async () => {
  const proxy = await startDatabaseProxy(url);
  const database = openDatabase(proxy.url, { max: 4 });
  await harness.bot.stop();
  const bot = await harness.startNext({ database });
  const suggest = () => fake.autocomplete('lookup', 'player', 'ola', moderator);
  const isFound = async () => (await suggest()).choices?.[0]?.value === aSteamId(2);
  await waitFor(isFound, { limitMs: 20_000 });
  for (const takeAway of [proxy.cut, proxy.freeze]) {
    takeAway();
    const { choices, callback } = await suggest();
    expect({ choices, callback }).toEqual({ choices: [], callback: 8 });
    proxy.restore();
    await waitFor(isFound, { limitMs: 20_000, everyMs: 200 });
  }
  await bot.stop();
  await database.close({ timeoutSeconds: 1 });
  await proxy.stop();
}, 60_000);
