import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { messageOf } from '../../support/discord/exchange.ts';
import { findButton, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;

const NOW = new Date('2026-11-21T12:00:00Z');
const harness = await startTestBot({ bot: { now: () => NOW } });
const { fake, db } = harness;
const owner = anActor({ userId: '175928847299117063' });
const plain = anActor();
const moderator = anActor({ isModerator: true });
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

test('shows flags, ids, age, and leads to the Steam profile and the record', async () => {
  const exchange = await fake.command('lookup', { steamid: aSteamId(1) }, moderator);
  const { message } = exchange;
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
  const record = await fake.press(
    messageOf(exchange),
    findButton(message, en.buttons.record)?.custom_id ?? '',
    moderator,
  );
  expect(record.callback).toBe(4);
  expect(isEphemeral(record.message)).toBe(true);
  expect(record.message?.embeds[0]?.author?.name).toBe('Ala *the* owner');
});

test('speaks Polish, and the language of the guild when shown to all', async () => {
  const polish = await fake.command('lookup', { user: { user: plain.user } }, { ...moderator, locale: 'pl' });
  expect(polish.message?.embeds[0]?.fields?.slice(0, 2)).toMatchObject([
    { name: pl.user.flags, value: pl.user.noFlags },
    {},
  ]);
  const shown = await fake.command(
    'lookup',
    { steamid: aSteamId(3), show: true },
    { ...moderator, guildLocale: 'pl' },
  );
  expect(isEphemeral(shown.message)).toBe(false);
  expect(shown.message?.embeds[0]?.title).toBe(pl.user.unnamed);
  expect(shown.message?.embeds[0]?.fields?.find(({ name }) => name === pl.user.discord)?.value).toBe(
    pl.user.notLinked,
  );
});

test('follows the rules of the API: one is needed, the Discord user wins, no match is said', async () => {
  const text = async (options: Parameters<typeof fake.command>[1], locale = 'en-US') =>
    (await fake.command('lookup', options, { ...moderator, locale })).message?.embeds[0];
  expect((await text({}))?.description).toBe(en.refusals.whomToLookUp);
  expect((await text({}, 'pl'))?.description).toBe(pl.refusals.whomToLookUp);
  expect((await text({ user: { user: plain.user }, steamid: aSteamId(1) }))?.title).toBe('Plain');
  const stranger = anActor().user;
  expect((await text({ user: { user: stranger }, steamid: aSteamId(1) }))?.description).toBe(
    en.refusals.notLinkedUser(`<@${stranger.id}>`),
  );
});

test('shows the record of a player without an account, and says that there is none', async () => {
  await insertPenalties(db, [{ playerSteamId: aSteamId(77), playerName: 'Guest' }]);
  const exchange = await fake.command('lookup', { steamid: aSteamId(77) }, moderator);
  expect(exchange.message?.embeds[0]?.author?.name).toBe('Guest');
  const lines = exchange.message?.embeds[0]?.description?.split('\n') ?? [];
  expect(lines[0]).toStartWith(`### ⛔ ${en.record.inForce.ban.permanently}`);
  expect(lines.at(-1)).toBe(en.user.neverSignedIn);
  const unknown = await fake.command('lookup', { steamid: aSteamId(78) }, { ...moderator, locale: 'pl' });
  expect(unknown.message?.embeds[0]?.description).toBe(
    `### ${pl.record.clean}\n\n\`${aSteamId(78)}\`\n${pl.user.neverSignedIn}`,
  );
});

test('everyone may look at themselves', async () => {
  expect(
    (await fake.command('lookup', { user: { user: plain.user } }, plain)).message?.embeds[0]?.title,
  ).toBe('Plain');
  expect((await fake.command('lookup', { steamid: aSteamId(2) }, plain)).message?.embeds[0]?.title).toBe(
    'Plain',
  );
});
