import { describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { createVanityNames } from '../../../src/steam/vanity-names.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertMany, lasting } from '../../support/bot/feeds.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { type Exchange, embedOf, textOf } from '../../support/discord/exchange.ts';
import type { OptionValue } from '../../support/discord/interactions.ts';
import { componentsOf, findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';

const { en, pl } = BOT_TEXTS;

const steam = startSteamApi();
const address = 'https://steamcommunity.com/id/zbanowany/';
steam.vanityNames.zbanowany = aSteamId(1);
steam.players[aSteamId(1)] = { profileurl: address };
const steamApi = createSteamApi({ apiUrl: steam.url, apiKey: steam.key, countCall: async () => true });
const { fake, db, connect, restart } = await startTestBot({
  bot: {
    now: () => new Date('2026-11-21T12:00:00Z'),
    vanityNames: createVanityNames(steamApi),
    appealUrl: 'https://forum.example.org/appeals',
    arePenaltiesPublic: true,
    panels: [{ source: 'simpleadmin', table: 'sa_bans', address: 'https://panel.example/(bans)/{id}' }],
  },
});
const member = anActor();
const polishMember = { ...member, locale: 'pl' };
const moderator = anActor({ isModerator: true });
const cleanMember = anActor();
const unlinked = anActor();

const server = await insertServer(db, { name: 'Only *Mirage*' });
await insertUser(db, 1, { nickname: 'Rzeźnik_1', discordId: member.user.id });
await insertUser(db, 2, { nickname: 'Clean', discordId: cleanMember.user.id });
const time = (text: string) => new Date(`2026-${text}Z`);
const permanent = { durationMinutes: 0, createdAt: time('10-01T10:00') };
const lifted = { status: 'UNBANNED', liftedAt: time('11-10T12:00'), liftedByName: 'Ola' } as const;
const warning = { ...lasting(60, time('11-15T10:00')), type: 'warn', status: 'EXPIRED' } as const;
/** Of player 1: an expired ban, a ban that is active, a lifted mute, a gag that is active, and 8 expired warnings. */
await insertPenalties(db, [
  { ...lasting(90, time('11-20T10:00')), reason: 'Old expired' },
  {
    ...permanent,
    reason: '`wall` @everyone\n# [hack](https://x.y)',
    serverId: server.id,
    adminName: 'Ala_*',
  },
  {
    ...lasting(1440, time('11-10T10:00')),
    ...lifted,
    type: 'mute',
    reason: 'Spam',
    liftReason: 'Appeal_1',
    serverId: 0,
  },
  { ...lasting(120, time('11-21T11:00')), type: 'gag', reason: '', adminName: '', serverId: 4242 },
  ...Array.from({ length: 8 }, (_, number) => ({
    ...warning,
    reason: `warning ${number}`,
    createdAt: time(`11-15T10:0${number}`),
  })),
]);
await connect();

const check = (options: Record<string, OptionValue>, actor: Actor) =>
  fake.command('ban-check', options, actor);
const nameIn = (exchange: Exchange) => embedOf(exchange).author?.name;
const footerOf = (exchange: Exchange) => embedOf(exchange).footer?.text;
/** The penalties of a page, except the one at the top. */
const entriesOf = (exchange: Exchange) =>
  textOf(exchange)
    .split('\n')
    .filter((line) => /^[🔴⚪🟢]/u.test(line));
const at = (text: string, style: string) => `<t:${Date.parse(text) / 1000}:${style}>`;
const press = (exchange: Exchange, label: string) => fake.click(exchange.message, label, member);
const choose = (exchange: Exchange, name: RegExp, value: string, actor: Actor = member) =>
  fake.choose(exchange.message, name, value, actor);

/** A way of each kind to name player 1. */
const account = BigInt(aSteamId(1)) - 76561197960265728n;
const NOTATIONS = [`[U:1:${account}]`, String(account), `<@${member.user.id}>`, address].map((steamid) => ({
  steamid,
}));

describe('/ban-check of oneself', () => {
  test('/ban-check without an option shows the invoker’s record, only to them, active penalties first', async () => {
    const exchange = await check({}, member);
    expect(exchange.callback).toBe(4);
    expect(isEphemeral(exchange.message)).toBe(true);
    expect(exchange.message?.allowedMentions).toEqual({ parse: [] });
    expect(exchange.message?.embeds).toEqual([
      {
        author: { name: 'Rzeźnik_1' },
        color: 0xed4245,
        description: expect.any(String),
        footer: { text: 'Page 1 of 3 · 12 penalties' },
      },
    ]);
    expect(
      textOf(exchange)
        .replace(/-# #\d+ /g, '-# #N ')
        .split('\n'),
    ).toEqual([
      `### ⛔ ${en.record.inForce.ban.permanently}: \\\`wall\\\` \\@everyone \\# \\[hack\\](https\\://x.y)`,
      `-# #N · permanent · Ala\\_\\* · Only \\*Mirage\\* · ${at('2026-10-01T10:00:00Z', 'R')}`,
      `🔴 Gagged until ${at('2026-11-21T13:00:00Z', 'D')} (${at('2026-11-21T13:00:00Z', 'R')}): ${en.record.noReason}`,
      `-# #N · 2 hours · ${en.record.unnamedAdmin} · \\#4242 · ${at('2026-11-21T11:00:00Z', 'R')}`,
      `⚪ Ban: Old expired – expired ${at('2026-11-20T11:30:00Z', 'R')}`,
      `-# #N · 1 hour, 30 minutes · Ala · Only \\*Mirage\\* · ${at('2026-11-20T10:00:00Z', 'R')}`,
      `⚪ Warning: warning 7 – expired ${at('2026-11-15T11:00:00Z', 'R')}`,
      `-# #N · 1 hour · Ala · Only \\*Mirage\\* · ${at('2026-11-15T10:07:00Z', 'R')}`,
      `⚪ Warning: warning 6 – expired ${at('2026-11-15T11:00:00Z', 'R')}`,
      `-# #N · 1 hour · Ala · Only \\*Mirage\\* · ${at('2026-11-15T10:06:00Z', 'R')}`,
      '',
      `\`${aSteamId(1)}\` · **On record:** 2 bans · 1 mute · 1 gag · 8 warnings`,
    ]);
  });

  test('speaks Polish, with its plural forms', async () => {
    const exchange = await check({}, polishMember);
    const lines = textOf(exchange).split('\n');
    expect(lines[0]).toStartWith(`### ⛔ ${pl.record.inForce.ban.permanently}: `);
    expect(lines[1]).toMatch(/^-# #\d+ · na stałe · /);
    expect(lines[2]).toMatch(/^🔴 Blokada czatu do <t:\d+:D> \(<t:\d+:R>\): nie podano powodu$/);
    expect(lines[3]).toContain('2 godziny');
    expect(lines[4]).toMatch(/^⚪ Ban: Old expired – wygasł <t:\d+:R>$/);
    expect(lines.at(-1)).toBe(
      `\`${aSteamId(1)}\` · **W historii:** 2 bany · 1 wyciszenie głosu · 1 blokada czatu · 8 ostrzeżeń`,
    );
    expect(footerOf(exchange)).toBe('Strona 1 z 3 · 12 kar');
  });

  test('the invoker’s record has a button to appeal while a penalty is active', async () => {
    const appealIn = ({ message }: Exchange, { buttons } = en) => findButton(message, buttons.appeal)?.url;
    expect(appealIn(await check({}, member))).toBe('https://forum.example.org/appeals');
    expect(appealIn(await check({}, polishMember), pl)).toBe('https://forum.example.org/appeals');
    expect(appealIn(await check({ steamid: aSteamId(1) }, moderator))).toBeUndefined();
    expect(appealIn(await check({}, cleanMember))).toBeUndefined();
  });

  test('leads to their account page; a record of others to their page for moderators, or the public list', async () => {
    const siteOf = ({ message }: Exchange) => findButton(message, en.buttons.site)?.url;
    expect(siteOf(await check({}, member))).toBe('https://play.example.org/account');
    const ofOther = await check({ steamid: aSteamId(1) }, moderator);
    expect(siteOf(ofOther)).toBe(`https://play.example.org/account/moderation/users/${aSteamId(1)}`);
    expect(textOf(ofOther)).toMatch(
      /\n-# \[#(\d+)\]\(https:\/\/play\.example\.org\/account\/moderation\/penalties\/\1\) · /,
    );
    const shown = await check({ steamid: aSteamId(1), show: true }, moderator);
    expect(siteOf(shown)).toBe(`https://play.example.org/penalties?q=${aSteamId(1)}`);
    expect(textOf(shown)).toMatch(/\n-# #\d+ · /);
    await restart({ arePenaltiesPublic: false });
    expect(siteOf(await check({ steamid: aSteamId(1), show: true }, moderator))).toBeUndefined();
    await restart();
  });

  test('says how to link an account when there is none', async () => {
    const english = await check({}, unlinked);
    expect(isEphemeral(english.message)).toBe(true);
    expect(textOf(english)).toContain(en.refusals.notLinkedYourself);
    expect(findButton(english.message, en.buttons.account)?.url).toBe('https://play.example.org/account');
    expect(textOf(await check({}, { ...unlinked, locale: 'pl' }))).toContain(pl.refusals.notLinkedYourself);
  });

  test('offers no link where accounts cannot be linked', async () => {
    await restart({ linksAccounts: false });
    const refused = await check({}, unlinked);
    expect(textOf(refused)).toBe(`${en.refusals.notLinkedYourself}\n${en.refusals.linkingIsOff}`);
    expect(refused.message?.components).toEqual([]);
    await restart();
  });

  test('works in a direct message', async () => {
    expect(nameIn(await check({}, { ...member, guildId: undefined, permissions: '0' }))).toBe('Rzeźnik_1');
  });

  test("accepts one's own SteamID in any notation, one's own custom address, and oneself as the Discord user", async () => {
    for (const options of [...NOTATIONS, { user: { user: member.user } }])
      expect([options, nameIn(await check(options, member))]).toEqual([options, 'Rzeźnik_1']);
  });
});

describe('/ban-check of others', () => {
  test('/ban-check of others is for moderators: by any notation, profile address, custom address or Discord user', async () => {
    for (const options of [
      ...NOTATIONS,
      { player: member.user.id },
      { steamid: 'rzeźnik_1' },
      { steamid: 'steamcommunity.com/id/zbanowany/' },
      { user: { user: member.user } },
      // The Discord user wins, as in the API's lookup.
      { user: { user: member.user }, steamid: aSteamId(2) },
    ]) {
      const exchange = await check(options, moderator);
      expect([options, nameIn(exchange)]).toEqual([options, 'Rzeźnik_1']);
      expect(isEphemeral(exchange.message)).toBe(true);
    }
  });

  test('a member’s /ban-check never asks Steam for the custom addresses of others', async () => {
    const before = steam.requests;
    for (const actor of [member, unlinked]) {
      expect(textOf(await check({ steamid: 'https://steamcommunity.com/id/somebody' }, actor))).toBe(
        en.refusals.moderateMembersRequired(fake.mention('ban-check')),
      );
    }
    expect(steam.requests).toBe(before);
  });

  test.each([
    ['CONSOLE', aSteamId(601)],
    ['', aSteamId(602)],
  ])(
    'calls the server’s console by its name in the reader’s language where a plugin stores %j',
    async (adminName, playerSteamId) => {
      await insertPenalties(db, [{ playerSteamId, adminName, adminSteamId: UNKNOWN_STEAM_ID }]);
      const asked = await check({ steamid: playerSteamId }, { ...moderator, locale: 'pl' });
      expect(textOf(asked)).toContain(` · ${pl.record.console} · `);
    },
  );

  test('leads moderators to the panel of the source, where nobody else reads along', async () => {
    const row = { playerSteamId: aSteamId(70), source: 'simpleadmin' };
    await insertPenalties(db, [
      { ...row, sourceTable: 'sa_bans', sourceId: '7' },
      { ...row, sourceTable: 'sa_mutes', sourceId: '8', type: 'mute' },
    ]);
    const shown = textOf(await check({ steamid: aSteamId(70) }, moderator));
    expect(shown.match(/https:\/\/panel\S*/g)).toEqual(['https://panel.example/%28bans%29/7)']);
    const publicly = await check({ steamid: aSteamId(70), show: true }, moderator);
    expect(textOf(publicly)).not.toContain('panel.example');
  });

  test('/ban-check has a message for a clean record, an unlinked user and somebody unknown', async () => {
    const clean = await check({ steamid: aSteamId(2) }, { ...moderator, locale: 'pl' });
    expect(nameIn(clean)).toBe('Clean');
    expect(textOf(clean)).toBe(`### ${pl.record.clean}\n\n\`${aSteamId(2)}\``);
    const nobody = await check({ user: { user: unlinked.user } }, moderator);
    expect(textOf(nobody)).toBe(en.refusals.notLinkedUser(`<@${unlinked.user.id}>`));
    for (const [steamid, shown] of [
      ['**x**', '\\*\\*x\\*\\*'],
      ['steamcommunity.com/id/nobody', 'steamcommunity.com/id/nobody'],
      ['1', '1'],
    ] as const) {
      expect(textOf(await check({ steamid }, moderator))).toBe(en.refusals.playerNotFound(shown));
    }
  });

  test('`show` makes it public for a moderator, in the language of the guild; others stay private', async () => {
    const shown = await check({ steamid: aSteamId(1), show: true }, { ...moderator, guildLocale: 'pl' });
    expect(isEphemeral(shown.message)).toBe(false);
    expect(textOf(shown)).toContain(pl.record.inForce.ban.permanently);
    const own = await check({ show: true }, { ...member, guildLocale: 'pl' });
    expect(isEphemeral(own.message)).toBe(true);
    expect(textOf(own)).toContain(en.record.inForce.ban.permanently);
  });

  test('the entry "Check bans" of the user menu opens the same', async () => {
    for (const actor of [moderator, member]) {
      const exchange = await fake.userMenu(en.commands.checkBans.name, member.user, actor);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(nameIn(exchange)).toBe('Rzeźnik_1');
    }
  });
});

describe('pages and filters', () => {
  const pageOf = (page: number, lastPage: number, total: number) => en.record.page({ page, lastPage, total });

  test('pages of five with disabled edges', async () => {
    const { first, previous, next, last } = en.buttons;
    const areDisabled = ({ message }: Exchange) =>
      [first, previous, next, last].map((label) => findButton(message, label)?.disabled);
    const start = await check({}, member);
    expect(areDisabled(start)).toEqual([true, true, false, false]);
    const second = await press(start, next);
    expect(second.callback).toBe(7);
    expect(entriesOf(second)).toHaveLength(5);
    expect(textOf(second)).toStartWith(`### ⛔ ${en.record.inForce.ban.permanently}`);
    expect(footerOf(second)).toBe(pageOf(2, 3, 12));
    const end = await press(second, last);
    expect(entriesOf(end)).toHaveLength(2);
    expect(entriesOf(end).at(-1)).toStartWith(`🟢 ${en.record.types.mute}: Spam – `);
    expect(areDisabled(end)).toEqual([false, false, true, true]);
    expect(footerOf(await press(end, first))).toBe(pageOf(1, 3, 12));
  });

  test('a short record has neither pages nor filters', async () => {
    const labelsOf = ({ message }: Exchange) => componentsOf(message).map(({ label }) => label ?? 'menu');
    await insertMany(db, 4, { playerSteamId: aSteamId(55) });
    const four = await check({ steamid: aSteamId(55) }, moderator);
    expect(labelsOf(four)).toEqual([en.buttons.site, en.buttons.profile]);
    await insertMany(db, 1, { playerSteamId: aSteamId(55) });
    const five = await check({ steamid: aSteamId(55) }, moderator);
    expect(labelsOf(five)).toEqual(['menu', 'menu', en.buttons.site, en.buttons.profile]);
  });

  test('tells who lifted a penalty, when and why', async () => {
    const exchange = await check({}, member);
    const { types, statusOf, liftedBy, durationInWords, noServer, liftReason } = en.record;
    const lines = textOf(await choose(exchange, /^record\.status/, 'UNBANNED')).split('\n');
    expect(lines.slice(2, 4).map((line) => line.replace(/#\d+/, '#N'))).toEqual([
      `🟢 ${types.mute}: Spam – ${statusOf('mute', 'UNBANNED')} ${at('2026-11-10T12:00:00Z', 'R')} ${liftedBy('Ola')}`,
      `-# #N · ${durationInWords(1440)} · Ala · ${noServer} · ${at('2026-11-10T10:00:00Z', 'R')} · ${liftReason('Appeal\\_1')}`,
    ]);
    const inPolish = await choose(exchange, /^record\.status/, 'UNBANNED', polishMember);
    expect(textOf(inPolish)).toMatch(
      /Wyciszenie głosu: Spam – zdjęte <t:\d+:R> przez Ola\n.* · „Appeal\\_1”/,
    );
  });

  test('filters by type and status, both kept while paging, the summary always whole', async () => {
    const start = await check({}, member);
    const { everyType, types } = en.record;
    expect(findComponent(start.message, /^record\.type/)?.options?.map(({ label }) => label)).toEqual([
      everyType,
      `${types.ban} (2)`,
      `${types.mute} (1)`,
      `${types.gag} (1)`,
      `${types.silence} (0)`,
      `${types.warn} (8)`,
    ]);
    const warnings = await choose(start, /^record\.type/, 'warn');
    expect(footerOf(warnings)).toBe(pageOf(1, 2, 8));
    expect(textOf(warnings)).toContain(en.record.count('ban', 2));
    const page = await press(warnings, en.buttons.next);
    expect(entriesOf(page)).toHaveLength(3);
    expect(entriesOf(page).every((line) => line.includes(types.warn))).toBe(true);
    const none = await choose(page, /^record\.status/, 'ACTIVE');
    expect(entriesOf(none)).toHaveLength(0);
    expect(textOf(none)).toContain(en.record.nothingMatches);
    expect(footerOf(await choose(none, /^record\.type/, '-'))).toBe(pageOf(1, 1, 2));
  });
});
