import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { Unavailable } from '../../../src/domain/errors.ts';
import type { SteamBans } from '../../../src/queries/steam-bans.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { embedOf, textOf } from '../../support/discord/exchange.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { findButton, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;

const NOW = new Date('2026-11-21T12:00:00Z');
const harness = await startTestBot({ bot: { now: () => NOW } });
const { fake, db } = harness;
const owner = anActor({ userId: '175928847299117063' });
const plain = anActor();
const moderator = anActor({ isModerator: true });
const polish = { ...moderator, locale: 'pl' };
const createdAt = new Date('2025-03-01T10:00:00Z');
const since = createdAt.getTime() / 1000;

await insertUser(db, 1, {
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
await insertUser(db, 2, { nickname: 'Plain', discordId: plain.user.id, createdAt });
await insertUser(db, 3, { nickname: '', createdAt });
await insertPenalties(db, [{ type: 'ban', playerSteamId: aSteamId(1) }]);
await harness.connect();

const lookUp = (options: Record<string, OptionValue>, actor = moderator) =>
  fake.command('lookup', options, actor);

test('shows flags, ids, age, and leads to the Steam profile and the record', async () => {
  const { message } = await lookUp({ steamid: aSteamId(1) });
  expect(isEphemeral(message)).toBe(true);
  const flag = en.user;
  const account = Number(BigInt(aSteamId(1)) - 76561197960265728n);
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
        { name: en.user.steamId, value: `\`${aSteamId(1)}\``, inline: true },
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
  expect(findButton(message, en.buttons.profile)?.url).toBe(
    `https://steamcommunity.com/profiles/${aSteamId(1)}`,
  );
  const record = await fake.click(message, en.buttons.record, moderator);
  expect(record.callback).toBe(4);
  expect(isEphemeral(record.message)).toBe(true);
  expect(embedOf(record).author?.name).toBe('Ala *the* owner');
});

test('speaks Polish, and the language of the guild when shown to all', async () => {
  const { fields } = embedOf(await lookUp({ user: { user: plain.user } }, polish));
  expect(fields?.[0]).toMatchObject({ name: pl.user.flags, value: pl.user.noFlags });
  const shown = await lookUp({ steamid: aSteamId(3), show: true }, { ...moderator, guildLocale: 'pl' });
  expect(isEphemeral(shown.message)).toBe(false);
  expect(embedOf(shown)).toMatchObject({
    title: pl.user.unnamed,
    fields: expect.arrayContaining([expect.objectContaining({ value: pl.user.notLinked })]),
  });
});

test('follows the rules of the API: one is needed, the Discord user wins, no match is said', async () => {
  expect(textOf(await lookUp({}))).toBe(en.refusals.whomToLookUp);
  expect(textOf(await lookUp({}, polish))).toBe(pl.refusals.whomToLookUp);
  expect(embedOf(await lookUp({ user: { user: plain.user }, steamid: aSteamId(1) })).title).toBe('Plain');
  const stranger = anActor().user;
  expect(textOf(await lookUp({ user: { user: stranger }, steamid: aSteamId(1) }))).toBe(
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
  for (const options of [{ user: { user: plain.user } }, { steamid: aSteamId(2) }])
    expect(embedOf(await lookUp(options, plain)).title).toBe('Plain');
});

/** The line on Steam's bans of player 2, as /ban-check and /lookup show it. */
async function readSteamBans(actor: typeof moderator, load: () => Promise<Partial<SteamBans> | undefined>) {
  const clean = { vacBans: 0, gameBans: 0, daysSinceLastBan: 0, isCommunityBanned: false };
  await harness.restart({
    lookUpSteamBans: async (steamId64) => {
      const bans = await load();
      return bans && { steamId64, ...clean, checkedAt: NOW, ...bans };
    },
  });
  const record = await fake.command('ban-check', { steamid: aSteamId(2) }, actor);
  const { fields } = embedOf(await lookUp({ steamid: aSteamId(2) }, actor));
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
