import { describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import { blockUser } from '../../../src/queries/users/users.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, erase, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { embedOf, textOf } from '../../support/discord/exchange.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;

const now = new Date('2026-11-21T12:00:00Z');
const harness = await startTestBot({ bot: { now: () => now } });
const { fake, db } = harness;
const moderator = anActor({ isModerator: true });
const polish = { ...moderator, locale: 'pl' };
const member = anActor();
/** Their account hides its Discord account. */
const hider = anActor();
const HIDER = aSteamId(1);
const COMMANDS = ['ban-check', 'lookup'];

await insertUser(db, 1, {
  nickname: 'Łukasz *pro*',
  discordId: hider.user.id,
  discordUsername: 'secret_lukasz',
  hidesDiscord: true,
  signedInAt: new Date('2026-11-20T10:00:00Z'),
});
await insertUser(db, 2, { nickname: 'Ola', signedInAt: new Date('2026-11-19T10:00:00Z') });
await insertUser(db, 9, { nickname: 'Curious', discordId: member.user.id });
await insertPenalties(db, [
  { playerSteamId: HIDER, playerName: 'Lukasz old', createdAt: new Date('2026-10-01T10:00:00Z') },
  { playerSteamId: aSteamId(3), playerName: 'Twin', type: 'mute' },
  { playerSteamId: aSteamId(4), playerName: 'twin', type: 'mute' },
  { playerSteamId: aSteamId(5), playerName: `${'N'.repeat(120)} long`, type: 'mute' },
]);
await harness.connect();

/** All that a response shows. */
const seenBy = async (actor: Actor, command: string, options: Record<string, OptionValue>) =>
  JSON.stringify((await fake.command(command, options, actor)).message?.embeds);

describe.each(COMMANDS)('/%s player:', (command) => {
  const suggest = async (typed: string, actor: Actor = moderator) =>
    (await fake.autocomplete(command, 'player', typed, actor)).choices ?? [];
  const valuesOf = (choices: { value: string }[]) => choices.map(({ value }) => value).toSorted();

  test('completes known nicknames, with and without account, whatever diacritics', async () => {
    expect(await suggest('LUKASZ')).toEqual([{ name: `⛔ Łukasz *pro* · ${HIDER}`, value: HIDER }]);
    expect(await suggest('old')).toEqual([{ name: `⛔ Łukasz *pro* (Lukasz old) · ${HIDER}`, value: HIDER }]);
    expect(valuesOf(await suggest('ol'))).toContain(aSteamId(2));
    expect(valuesOf(await suggest('twin'))).toEqual([aSteamId(3), aSteamId(4)]);
    const [long] = await suggest('NNNN');
    expect(long?.name.length).toBeLessThanOrEqual(100);
    expect(long?.name).toEndWith(`… · ${aSteamId(5)}`);
    for (const typed of ['', 'nobody of this name']) expect(await suggest(typed)).toEqual([]);
  });

  test('reveals nothing about Discord accounts', async () => {
    expect(JSON.stringify(await suggest('lukasz'))).not.toContain('secret');
    for (const typed of ['secret_lukasz', hider.user.id]) expect(await suggest(typed)).toEqual([]);
  });

  test('suggests nobody to members, nor to moderators in a direct message', async () => {
    for (const actor of [member, { ...moderator, guildId: undefined }])
      expect(await suggest('lukasz', actor)).toEqual([]);
  });

  test('responds with the player that was chosen, or is called so', async () => {
    const label = (await suggest('old'))[0]?.name ?? '';
    for (const player of [HIDER, 'lukasz *PRO*', 'Lukasz old', label]) {
      const { message } = await fake.command(command, { player }, moderator);
      expect(isEphemeral(message)).toBe(true);
      expect(JSON.stringify(message?.embeds)).toContain(HIDER);
    }
  });

  test.each([
    ['nobody', moderator, en.refusals.playerNotFound('nobody')],
    ['Luka', moderator, en.refusals.playerNotFound('Luka')],
    ['nikt', polish, pl.refusals.playerNotFound('nikt')],
    ['twin', polish, pl.refusals.severalPlayers('twin')],
  ])('says so when nobody or several are called so: %s', async (player, actor, text) => {
    expect(textOf(await fake.command(command, { player }, actor))).toBe(text);
  });

  test('offers the players of one name in a menu, and shows whom the moderator chooses', async () => {
    for (const show of [false, true]) {
      const refusal = await fake.command(command, { player: 'TWIN', show }, moderator);
      expect(isEphemeral(refusal.message)).toBe(true);
      expect(textOf(refusal)).toBe(en.refusals.severalPlayers('TWIN'));
      const menu = findComponent(refusal.message, /\.player:/);
      expect(menu?.options?.map(({ label, value }) => [label, value]).toSorted()).toEqual([
        [`Twin · ${aSteamId(3)}`, aSteamId(3)],
        [`twin · ${aSteamId(4)}`, aSteamId(4)],
      ]);
      const choose = (actor: Actor) => fake.choose(refusal.message, /\.player:/, aSteamId(4), actor);
      const { moderateMembersRequired } = en.refusals;
      expect(textOf(await choose(member))).toContain(moderateMembersRequired(fake.mention('ban-check')));
      const chosen = await choose(moderator);
      expect([chosen.callback, isEphemeral(chosen.message)]).toEqual(show ? [4, false] : [7, true]);
      expect(embedOf(chosen).author?.name).toBe('twin');
    }
  });

  test('refuses members in the same words whether or not anybody is called so', async () => {
    const texts = new Set<string>();
    for (const player of ['Ola', 'nobody', aSteamId(2), aSteamId(8)])
      texts.add(await seenBy(member, command, { player }));
    expect(texts.size).toBe(1);
    const { moderateMembersRequired } = en.refusals;
    expect([...texts][0]).toContain(moderateMembersRequired(fake.mention('ban-check')));
    expect(await seenBy(member, command, { player: aSteamId(9) })).toContain('Curious');
  });
});

test('a Discord user wins over a SteamID, and that over a nickname', async () => {
  const chosen = await fake.command('ban-check', { steamid: aSteamId(3), player: 'Ola' }, moderator);
  expect(embedOf(chosen).author?.name).toBe('Twin');
  const linked = await fake.command('lookup', { user: { user: member.user }, player: 'Ola' }, moderator);
  expect(embedOf(linked).title).toBe('Curious');
});

describe('a hidden Discord account', () => {
  const user = { user: hider.user };

  test('a hidden Discord account is shown to moderators, where nobody else reads along', async () => {
    expect(await seenBy(moderator, 'lookup', { steamid: HIDER })).toContain('secret\\\\_lukasz');
    expect(await seenBy(moderator, 'lookup', { user })).toContain(HIDER);
    expect(await seenBy(moderator, 'ban-check', { user })).toContain('Wallhack');
  });

  test('a hidden Discord account is in no message that everyone in the channel sees', async () => {
    const bySteam = await seenBy(moderator, 'lookup', { steamid: HIDER, show: true });
    expect(bySteam).toContain(HIDER);
    expect(bySteam).toContain(en.user.notLinked);
    expect(bySteam).not.toContain(hider.user.id);
    for (const command of COMMANDS) {
      expect(await seenBy(moderator, command, { user, show: true })).not.toContain(HIDER);
      for (const steamid of [hider.user.id, `<@${hider.user.id}>`, '@secret_lukasz']) {
        expect(await seenBy(moderator, command, { steamid, show: true })).not.toContain(HIDER);
        expect(await seenBy(moderator, command, { steamid })).toContain(HIDER);
        expect(await seenBy(member, command, { steamid })).toBe(
          await seenBy(member, command, { steamid: '@nobody' }),
        );
      }
      for (const steamid of [`<@${hider.user.id}>`, '@Secret_Lukasz'])
        expect(await seenBy(hider, command, { steamid })).toContain('Łukasz');
    }
  });

  test.each(COMMANDS)(
    'a hidden Discord account is refused to members by /%s, and its owner sees their own',
    async (command) => {
      expect(await seenBy(member, command, { user })).not.toContain(HIDER);
      expect(await seenBy(hider, command, { user })).toContain('Łukasz');
    },
  );
});

describe('a member who is erased or blocked', () => {
  /** A member with a penalty, one they gave and one they lifted, under names that nobody else has. */
  async function aMember(number: number) {
    const actor = anActor();
    const [id, name, other] = [aSteamId(number), `Rzeznik${number}x`, aSteamId(500)];
    await insertUser(db, number, { nickname: name, discordId: actor.user.id, discordUsername: name });
    const lifted = { status: 'UNBANNED', liftedAt: now, liftedBySteamId: id, liftedByName: name } as const;
    await insertPenalties(db, [
      { playerSteamId: id, playerName: name, reason: `Wallhack ${number}`, createdAt: now },
      { playerSteamId: other, adminSteamId: id, adminName: name, createdAt: now },
      { playerSteamId: other, ...lifted, createdAt: now },
    ]);
    /** What a moderator, and the member, see of the member by every option of both commands. */
    async function see(): Promise<string[]> {
      const user = { user: actor.user };
      const asked = COMMANDS.toReversed().flatMap((command) => [
        seenBy(moderator, command, { steamid: id }),
        seenBy(moderator, command, { player: name }),
        seenBy(moderator, command, { user }),
        seenBy(actor, command, { user }),
      ]);
      // The record of the player to whom they gave a penalty.
      return Promise.all([...asked, seenBy(moderator, 'ban-check', { steamid: other })]);
    }
    return { id, name, actor, see };
  }

  const suggested = async (name: string) =>
    JSON.stringify((await fake.autocomplete('ban-check', 'player', name.slice(0, 8), moderator)).choices);

  test('/lookup and /ban-check show nothing of an erased player, to moderators or to themselves', async () => {
    const { id, name, actor, see } = await aMember(21);
    for (const text of await see()) expect(text).toContain(name);
    expect(await suggested(name)).toContain(id);

    await erase(db, id, { withPenalties: true });

    // The response repeats what was asked for.
    const unknownName = en.refusals.playerNotFound(name);
    const { formerAdmin } = en.record;
    const emptyRecord = `### ${en.record.clean}\n\n\`${id}\`\n${en.user.neverSignedIn}`;
    const notLinked = en.refusals.notLinkedUser(`<@${actor.user.id}>`);
    expect((await see()).map((embeds) => JSON.parse(embeds)[0].description)).toEqual([
      emptyRecord,
      unknownName,
      notLinked,
      notLinked,
      emptyRecord,
      unknownName,
      notLinked,
      expect.stringContaining(en.refusals.notLinkedYourself),
      expect.stringMatching(
        new RegExp(
          `^(?!.*Rzeznik).*${formerAdmin}.*${en.record.liftedBy(en.record.lifters.formerAdmin)}`,
          's',
        ),
      ),
    ]);
    expect(await suggested(name)).not.toContain(id);
  });

  test('a blocked member uses the bot as before, and nothing there reveals the block', async () => {
    const { id, see } = await aMember(22);
    const before = await see();
    await blockUser(db, id, { reason: 'Scraping', now, actor: 'operator' });
    expect(await see()).toEqual(before);
  });
});

/** Whose profile /lookup shows with everything in it. */
const owner = anActor({ userId: '175928847299117063' });
const plain = anActor();
const [OWNER, PLAIN] = [aSteamId(41), aSteamId(42)];
const createdAt = new Date('2025-03-01T10:00:00Z');
await insertUser(db, 41, {
  nickname: 'Ala *the* owner',
  discordId: owner.user.id,
  discordUsername: 'ala_',
  avatarUrl: 'https://avatars.example.org/a.jpg',
  isAdmin: true,
  isOwner: true,
  hasSvip: true,
  isServiceplus: true,
  createdAt,
});
await insertUser(db, 42, { nickname: 'Plain', discordId: plain.user.id, createdAt });
await insertUser(db, 43, { nickname: '', createdAt });
await insertPenalties(db, [{ type: 'ban', playerSteamId: OWNER }]);

const lookUp = (options: Record<string, OptionValue>, actor = moderator) =>
  fake.command('lookup', options, actor);

test('shows flags, ids, age, and leads to the Steam profile and the record', async () => {
  const { message } = await lookUp({ steamid: OWNER });
  expect(isEphemeral(message)).toBe(true);
  const since = createdAt.getTime() / 1000;
  const flag = en.user;
  const account = Number(BigInt(OWNER) - 76561197960265728n);
  expect(message?.embeds).toEqual([
    {
      title: 'Ala \\*the\\* owner',
      color: 0xed4245,
      thumbnail: { url: 'https://avatars.example.org/a.jpg' },
      fields: [
        {
          name: en.user.flags,
          value: `⛔ ${flag.banned} · 👑 ${flag.owner} · 🛡️ ${flag.admin} · 💎 ${flag.svip} · ⭐ ${flag.premium}`,
        },
        { name: en.user.steamId, value: `\`${OWNER}\``, inline: true },
        { name: en.user.accountId, value: `\`${account}\``, inline: true },
        {
          name: en.user.otherNotations,
          value: `\`STEAM_1:${account % 2}:${Math.floor(account / 2)}\`\n\`[U:1:${account}]\``,
          inline: true,
        },
        { name: en.user.discord, value: `<@${owner.user.id}> (ala\\_)`, inline: true },
        { name: en.user.memberSince, value: `<t:${since}:D> (<t:${since}:R>)`, inline: true },
        // The example of Discord's documentation: 2016-04-30 11:18:25 UTC.
        { name: en.user.discordSince, value: '<t:1462015105:D> (<t:1462015105:R>)', inline: true },
      ],
    },
  ]);
  expect(findButton(message, en.buttons.profile)?.url).toBe(`https://steamcommunity.com/profiles/${OWNER}`);
  const record = await fake.click(message, en.buttons.record, moderator);
  expect(record.callback).toBe(4);
  expect(isEphemeral(record.message)).toBe(true);
  expect(embedOf(record).author?.name).toBe('Ala *the* owner');
});

test('speaks Polish, and the language of the guild when shown to all', async () => {
  const { fields } = embedOf(await lookUp({ user: { user: plain.user } }, polish));
  expect(fields?.[0]).toMatchObject({ name: pl.user.flags, value: pl.user.noFlags });
  const shown = await lookUp({ steamid: aSteamId(43), show: true }, { ...moderator, guildLocale: 'pl' });
  expect(isEphemeral(shown.message)).toBe(false);
  expect(embedOf(shown)).toMatchObject({
    title: pl.user.unnamed,
    fields: expect.arrayContaining([expect.objectContaining({ value: pl.user.notLinked })]),
  });
});

test('follows the rules of the API: one is needed, the Discord user wins, no match is said', async () => {
  expect(textOf(await lookUp({}))).toBe(en.refusals.whomToLookUp);
  expect(textOf(await lookUp({}, polish))).toBe(pl.refusals.whomToLookUp);
  expect(embedOf(await lookUp({ user: { user: plain.user }, steamid: OWNER })).title).toBe('Plain');
  const stranger = anActor().user;
  expect(textOf(await lookUp({ user: { user: stranger }, steamid: OWNER }))).toBe(
    en.refusals.notLinkedUser(`<@${stranger.id}>`),
  );
});

test('shows the record of a player without an account, and says that there is none', async () => {
  await insertPenalties(db, [{ playerSteamId: aSteamId(77), playerName: 'Guest' }]);
  const exchange = await lookUp({ steamid: aSteamId(77) });
  expect(embedOf(exchange).author?.name).toBe('Guest');
  const lines = textOf(exchange).split('\n');
  expect(lines[0]).toStartWith(`### ⛔ ${en.record.inForce.ban.permanently}`);
  expect(lines.at(-1)).toBe(en.user.neverSignedIn);
  expect(textOf(await lookUp({ steamid: aSteamId(78) }, polish))).toBe(
    `### ${pl.record.clean}\n\n\`${aSteamId(78)}\`\n${pl.user.neverSignedIn}`,
  );
});

test('everyone may look at themselves', async () => {
  for (const options of [{ user: { user: plain.user } }, { steamid: PLAIN }])
    expect(embedOf(await lookUp(options, plain)).title).toBe('Plain');
});

/** The line on Steam's bans of PLAIN, as /ban-check and /lookup show it. */
async function readSteamBans(actor: typeof moderator, load: () => Promise<Partial<SteamBans> | undefined>) {
  const clean = { vacBans: 0, gameBans: 0, daysSinceLastBan: 0, isCommunityBanned: false };
  await harness.restart({
    lookUpSteamBans: async (steamId64) => {
      const bans = await load();
      return bans && { steamId64, ...clean, checkedAt: now, ...bans };
    },
  });
  const record = await fake.command('ban-check', { steamid: PLAIN }, actor);
  const { fields } = embedOf(await lookUp({ steamid: PLAIN }, actor));
  const titles = [en.steamBans.title, pl.steamBans.title];
  return {
    record: textOf(record).split('\n').at(-1),
    lookup: fields?.find(({ name }) => titles.includes(name))?.value,
  };
}

test.each([
  ['no bans', {}, en.steamBans.none, pl.steamBans.none],
  [
    'a VAC ban',
    { vacBans: 1, daysSinceLastBan: 34 },
    '⚠️ 1 VAC ban (last one 34 days ago)',
    '⚠️ 1 ban VAC (ostatni 34 dni temu)',
  ],
  [
    'bans of each kind',
    { vacBans: 2, gameBans: 5, daysSinceLastBan: 0, isCommunityBanned: true },
    `⚠️ 2 VAC bans · 5 game bans · ${en.steamBans.community} (last one today)`,
    `⚠️ 2 bany VAC · 5 banów w grach · ${pl.steamBans.community} (ostatni dzisiaj)`,
  ],
  [
    'a community ban',
    { isCommunityBanned: true },
    `⚠️ ${en.steamBans.community}`,
    `⚠️ ${pl.steamBans.community}`,
  ],
  ['bans that nobody knows', undefined, en.steamBans.unknown, pl.steamBans.unknown],
])('/ban-check and /lookup tell %s at Steam in one line, in both languages', async (_, bans, ...lines) => {
  const [english, inPolish] = lines;
  expect(await readSteamBans(moderator, async () => bans)).toEqual({
    record: en.steamBans.line(english),
    lookup: english,
  });
  expect(await readSteamBans(polish, async () => bans)).toEqual({
    record: pl.steamBans.line(inPolish),
    lookup: inPolish,
  });
});

test.each([
  ['fails', () => Promise.reject(new Unavailable('the database is unreachable'))],
  ['never answers', () => new Promise<undefined>(() => {})],
])('a response waits only a moment for Steam when it %s', async (_, load) => {
  expect(await readSteamBans(moderator, load)).toEqual({
    record: en.steamBans.line(en.steamBans.unknown),
    lookup: en.steamBans.unknown,
  });
});
