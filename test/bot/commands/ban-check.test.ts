import { afterAll, describe, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { createVanityNames } from '../../../src/steam/vanity-names.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertSampleRecords, RECORDS_NOW } from '../../support/bot/records.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { type Exchange, messageOf } from '../../support/discord/exchange.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';

const { en, pl } = BOT_TEXTS;

const steam = startSteamApi();
afterAll(() => steam.stop());
const address = 'https://steamcommunity.com/id/zbanowany/';
steam.vanityNames.zbanowany = aSteamId(1);
steam.players[aSteamId(1)] = { profileurl: address };
const steamApi = createSteamApi({ apiUrl: steam.url, apiKey: steam.key, countCall: async () => true });
const { fake, db, connect } = await startTestBot({
  bot: {
    now: () => RECORDS_NOW,
    vanityNames: createVanityNames(steamApi),
    appealUrl: 'https://forum.example.org/appeals',
    arePenaltiesPublic: true,
    panels: [{ source: 'simpleadmin', table: 'sa_bans', address: 'https://panel.example/(bans)/{id}' }],
  },
});
const member = anActor({ userId: '700000000000000001' });
const moderator = anActor({ isModerator: true });
const cleanMember = anActor({ userId: '700000000000000002' });
const unlinked = anActor();
await insertSampleRecords(db, { discordId: member.user.id });
await connect();

const embedsOf = ({ message }: Exchange) => message?.embeds ?? [];
const textOf = (exchange: Exchange) => embedsOf(exchange)[0]?.description;
/** The penalties of a page, except the one at the top. */
const entriesOf = (exchange: Exchange) =>
  textOf(exchange)
    ?.split('\n')
    .filter((line) => /^[🔴⚪🟢]/u.test(line)) ?? [];
const epoch = (text: string) => Date.parse(text) / 1000;
const press = (exchange: Exchange, label: string, actor: Actor) => fake.click(exchange.message, label, actor);
const choose = (exchange: Exchange, name: RegExp, value: string, actor: Actor) =>
  fake.select(messageOf(exchange), findComponent(exchange.message, name)?.custom_id ?? '', [value], actor);

describe('/ban-check of oneself', () => {
  test('/ban-check without an option shows the invoker’s record, only to them, active penalties first', async () => {
    const exchange = await fake.command('ban-check', {}, member);
    expect(exchange.callback).toBe(4);
    expect(isEphemeral(exchange.message)).toBe(true);
    expect(exchange.message?.allowedMentions).toEqual({ parse: [] });
    const at = (text: string, style: string) => `<t:${epoch(text)}:${style}>`;
    expect(embedsOf(exchange)).toEqual([
      {
        author: { name: 'Rzeźnik_1' },
        color: 0xed4245,
        description: expect.any(String),
        footer: { text: 'Page 1 of 3 · 12 penalties' },
      },
    ]);
    expect(
      textOf(exchange)
        ?.replace(/-# #\d+ /g, '-# #N ')
        .split('\n'),
    ).toEqual([
      `### ⛔ ${en.record.inForce.ban.permanently}: \\\`wall\\\` \\@everyone \\# \\[hack\\](https\\://x.y)`,
      `-# #N · permanent · Ala\\_\\* · Only \\*Mirage\\* · ${at('2026-10-01T10:00:00Z', 'R')}`,
      `🔴 Gagged until ${at('2026-11-21T13:00:00Z', 'D')} (${at('2026-11-21T13:00:00Z', 'R')}): ${en.record.noReason}`,
      `-# #N · 2 hours · ${en.record.unnamedAdmin} · \\#4242 · ${at('2026-11-21T11:00:00Z', 'R')}`,
      `⚪ Ban: Old expired – expired ${at('2026-11-20T11:30:00Z', 'R')}`,
      `-# #N · 1 hour, 30 minutes · Ala · Only \\*Mirage\\* · ${at('2026-11-20T10:00:00Z', 'R')}`,
      `⚪ Warning: warning 7 – expired ${at('2026-11-15T12:00:00Z', 'R')}`,
      `-# #N · 1 hour · Ala · Only \\*Mirage\\* · ${at('2026-11-15T10:07:00Z', 'R')}`,
      `⚪ Warning: warning 6 – expired ${at('2026-11-15T12:00:00Z', 'R')}`,
      `-# #N · 1 hour · Ala · Only \\*Mirage\\* · ${at('2026-11-15T10:06:00Z', 'R')}`,
      '',
      `\`${aSteamId(1)}\` · **On record:** 2 bans · 1 mute · 1 gag · 8 warnings`,
    ]);
  });

  test('the invoker’s record has a button to appeal while a penalty is active', async () => {
    const banned = await fake.command('ban-check', {}, member);
    expect(findButton(banned.message, en.buttons.appeal)?.url).toBe('https://forum.example.org/appeals');
    const polish = await fake.command('ban-check', {}, { ...member, locale: 'pl' });
    expect(findButton(polish.message, pl.buttons.appeal)?.url).toBe('https://forum.example.org/appeals');
    const ofOther = await fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
    expect(findButton(ofOther.message, en.buttons.appeal)).toBeUndefined();
    const clean = await fake.command('ban-check', {}, cleanMember);
    expect(findButton(clean.message, en.buttons.appeal)).toBeUndefined();
  });

  test('leads to their account page; a record of others to their page for moderators, or the public list', async () => {
    const siteOf = ({ message }: Exchange) => findButton(message, en.buttons.site)?.url;
    expect(siteOf(await fake.command('ban-check', {}, member))).toBe('https://play.example.org/account');
    const ofOther = await fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
    expect(siteOf(ofOther)).toBe(`https://play.example.org/account/moderation/users/${aSteamId(1)}`);
    expect(textOf(ofOther)).toMatch(
      /\n-# \[#(\d+)\]\(https:\/\/play\.example\.org\/account\/moderation\/penalties\/\1\) · /,
    );
    const shown = await fake.command('ban-check', { steamid: aSteamId(1), show: true }, moderator);
    expect(siteOf(shown)).toBe(`https://play.example.org/penalties?q=${aSteamId(1)}`);
    expect(textOf(shown)).toMatch(/\n-# #\d+ · /);
  });

  test('speaks Polish, with its plural forms', async () => {
    const exchange = await fake.command('ban-check', {}, { ...member, locale: 'pl' });
    const lines = textOf(exchange)?.split('\n') ?? [];
    expect(lines[0]).toStartWith(`### ⛔ ${pl.record.inForce.ban.permanently}: `);
    expect(lines[1]).toMatch(/^-# #\d+ · na stałe · /);
    expect(lines[2]).toMatch(/^🔴 Blokada czatu do <t:\d+:D> \(<t:\d+:R>\): nie podano powodu$/);
    expect(lines[3]).toContain('2 godziny');
    expect(lines[4]).toMatch(/^⚪ Ban: Old expired – wygasł <t:\d+:R>$/);
    expect(lines.at(-1)).toBe(
      `\`${aSteamId(1)}\` · **W historii:** 2 bany · 1 wyciszenie głosu · 1 blokada czatu · 8 ostrzeżeń`,
    );
    expect(embedsOf(exchange)[0]?.footer?.text).toBe('Strona 1 z 3 · 12 kar');
  });

  test('calls the server’s console by its name in the reader’s language, as plugins store it or not', async () => {
    for (const [index, adminName] of ['Console', 'CONSOLE', ''].entries()) {
      const playerSteamId = aSteamId(600 + index);
      await insertPenalties(db, [{ playerSteamId, adminName, adminSteamId: UNKNOWN_STEAM_ID }]);
      const asked = await fake.command(
        'ban-check',
        { steamid: playerSteamId },
        { ...moderator, locale: 'pl' },
      );
      expect([adminName, textOf(asked)]).toEqual([
        adminName,
        expect.stringContaining(` · ${pl.record.console} · `),
      ]);
    }
  });

  test('says how to link an account when there is none', async () => {
    const english = await fake.command('ban-check', {}, unlinked);
    expect(isEphemeral(english.message)).toBe(true);
    expect(textOf(english)).toContain(en.refusals.notLinkedYourself);
    expect(findButton(english.message, en.buttons.account)?.url).toBe('https://play.example.org/account');
    expect(textOf(await fake.command('ban-check', {}, { ...unlinked, locale: 'pl' }))).toContain(
      pl.refusals.notLinkedYourself,
    );
  });

  test('works in a direct message', async () => {
    const exchange = await fake.command('ban-check', {}, { ...member, guildId: undefined, permissions: '0' });
    expect(embedsOf(exchange)[0]?.author?.name).toBe('Rzeźnik_1');
  });

  test("accepts one's own SteamID in any notation, and oneself as the Discord user", async () => {
    const id = BigInt(aSteamId(1)) - 76561197960265728n;
    for (const steamid of [
      aSteamId(1),
      `STEAM_1:${id % 2n}:${id / 2n}`,
      `[U:1:${id}]`,
      String(id),
      `<@${member.user.id}>`,
      member.user.id,
      `https://steamcommunity.com/profiles/${aSteamId(1)}/`,
      `<https://steamcommunity.com/profiles/${aSteamId(1)}>`,
    ]) {
      expect(embedsOf(await fake.command('ban-check', { steamid }, member))[0]?.author?.name).toContain(
        'Rzeźnik',
      );
    }
    expect(
      embedsOf(await fake.command('ban-check', { user: { user: member.user } }, member))[0]?.author?.name,
    ).toContain('Rzeźnik');
  });
});

describe('/ban-check of others', () => {
  test('/ban-check of others is for moderators: by any notation, profile address, custom address or Discord user', async () => {
    const id = BigInt(aSteamId(1)) - 76561197960265728n;
    for (const options of [
      { steamid: aSteamId(1) },
      { steamid: `STEAM_0:${id % 2n}:${id / 2n}` },
      { steamid: `[U:1:${id}]` },
      { steamid: `U:1:${id}` },
      { steamid: String(id) },
      { steamid: `<@${member.user.id}>` },
      { player: member.user.id },
      { steamid: 'rzeźnik_1' },
      { steamid: `https://steamcommunity.com/profiles/${aSteamId(1)}` },
      { steamid: 'steamcommunity.com/id/zbanowany/' },
      { user: { user: member.user } },
      // The Discord user wins, as in the API's lookup.
      { user: { user: member.user }, steamid: aSteamId(2) },
    ]) {
      const exchange = await fake.command('ban-check', options, moderator);
      expect(embedsOf(exchange)[0]?.author?.name).toBe('Rzeźnik_1');
      expect(isEphemeral(exchange.message)).toBe(true);
    }
  });

  test('a member’s /ban-check never asks Steam for the custom addresses of others', async () => {
    expect(embedsOf(await fake.command('ban-check', { steamid: address }, member))[0]?.author?.name).toBe(
      'Rzeźnik_1',
    );
    const before = steam.requests;
    const other = { steamid: 'https://steamcommunity.com/id/somebody' };
    for (const actor of [member, unlinked]) {
      expect(textOf(await fake.command('ban-check', other, actor))).toBe(
        en.refusals.moderateMembersRequired(fake.mention('ban-check')),
      );
    }
    expect(steam.requests).toBe(before);
  });

  test('leads moderators to the panel of the source, where nobody else reads along', async () => {
    await insertPenalties(db, [
      { playerSteamId: aSteamId(70), source: 'simpleadmin', sourceTable: 'sa_bans', sourceId: '7' },
      {
        playerSteamId: aSteamId(70),
        source: 'simpleadmin',
        sourceTable: 'sa_mutes',
        sourceId: '8',
        type: 'mute',
      },
    ]);
    const options = { steamid: aSteamId(70) };
    const shown = textOf(await fake.command('ban-check', options, moderator));
    expect(shown?.match(/https:\/\/panel\S*/g)).toEqual(['https://panel.example/%28bans%29/7)']);
    const publicly = await fake.command('ban-check', { ...options, show: true }, moderator);
    expect(textOf(publicly)).not.toContain('panel.example');
  });

  test('/ban-check has a message for a clean record, an unlinked user and somebody unknown', async () => {
    const clean = await fake.command('ban-check', { steamid: aSteamId(2) }, { ...moderator, locale: 'pl' });
    expect(embedsOf(clean)).toMatchObject([
      { author: { name: 'Clean' }, description: `### ${pl.record.clean}\n\n\`${aSteamId(2)}\`` },
    ]);
    const nobody = await fake.command('ban-check', { user: { user: unlinked.user } }, moderator);
    expect(textOf(nobody)).toBe(en.refusals.notLinkedUser(`<@${unlinked.user.id}>`));
    for (const [steamid, shown] of [
      ['**x**', '\\*\\*x\\*\\*'],
      ['steamcommunity.com/id/nobody', 'steamcommunity.com/id/nobody'],
      ['1', '1'],
    ] as const) {
      expect(textOf(await fake.command('ban-check', { steamid }, moderator))).toBe(
        BOT_TEXTS.en.refusals.playerNotFound(shown),
      );
    }
  });

  test('`show` makes it public for a moderator, in the language of the guild; others stay private', async () => {
    const shown = await fake.command(
      'ban-check',
      { steamid: aSteamId(1), show: true },
      { ...moderator, guildLocale: 'pl' },
    );
    expect(isEphemeral(shown.message)).toBe(false);
    expect(textOf(shown)).toContain(pl.record.inForce.ban.permanently);
    const own = await fake.command('ban-check', { show: true }, { ...member, guildLocale: 'pl' });
    expect(isEphemeral(own.message)).toBe(true);
    expect(textOf(own)).toContain(en.record.inForce.ban.permanently);
  });

  test('the entry "Check bans" of the user menu opens the same', async () => {
    const exchange = await fake.userMenu(en.commands.checkBans.name, member.user, moderator);
    expect(isEphemeral(exchange.message)).toBe(true);
    expect(embedsOf(exchange)[0]?.author?.name).toBe('Rzeźnik_1');
    expect(
      embedsOf(await fake.userMenu(en.commands.checkBans.name, member.user, member))[0]?.author?.name,
    ).toContain('Rzeźnik');
  });
});

describe('pages and filters', () => {
  test('pages of five with disabled edges', async () => {
    const first = await fake.command('ban-check', {}, member);
    expect(
      [en.buttons.first, en.buttons.previous, en.buttons.next, en.buttons.last].map(
        (label) => findButton(first.message, label)?.disabled,
      ),
    ).toEqual([true, true, false, false]);
    const second = await press(first, en.buttons.next, member);
    expect(second.callback).toBe(7);
    expect(entriesOf(second)).toHaveLength(5);
    expect(textOf(second)).toStartWith(`### ⛔ ${en.record.inForce.ban.permanently}`);
    expect(embedsOf(second)[0]?.footer?.text).toBe(en.record.page({ page: 2, lastPage: 3, total: 12 }));
    const last = await press(second, en.buttons.last, member);
    expect(entriesOf(last)).toHaveLength(2);
    expect(entriesOf(last).at(-1)).toStartWith(`🟢 ${en.record.types.mute}: Spam – `);
    expect(
      [en.buttons.first, en.buttons.previous, en.buttons.next, en.buttons.last].map(
        (label) => findButton(last.message, label)?.disabled,
      ),
    ).toEqual([false, false, true, true]);
    expect(embedsOf(await press(last, en.buttons.first, member))[0]?.footer?.text).toBe(
      en.record.page({ page: 1, lastPage: 3, total: 12 }),
    );
  });

  test('a short record has neither pages nor filters', async () => {
    const penalties = Array.from({ length: 5 }, () => ({ playerSteamId: aSteamId(55) }));
    await insertPenalties(db, penalties.slice(1));
    const labels = ({ message }: Exchange) =>
      message?.components.flatMap(({ components = [] }) => components.map((each) => each.label ?? 'menu'));
    const four = await fake.command('ban-check', { steamid: aSteamId(55) }, moderator);
    expect(labels(four)).toEqual([en.buttons.site, en.buttons.profile]);
    await insertPenalties(db, penalties.slice(0, 1));
    const five = await fake.command('ban-check', { steamid: aSteamId(55) }, moderator);
    expect(labels(five)).toEqual(['menu', 'menu', en.buttons.site, en.buttons.profile]);
  });

  test('tells who lifted a penalty, when and why', async () => {
    const exchange = await fake.command('ban-check', {}, member);
    const { types, statusOf, liftedBy, durationInWords, noServer, liftReason } = en.record;
    const lifted = await choose(exchange, /^record\.status/, 'UNBANNED', member);
    const lines = textOf(lifted)?.split('\n') ?? [];
    expect(lines.slice(2, 4).map((line) => line.replace(/#\d+/, '#N'))).toEqual([
      `🟢 ${types.mute}: Spam – ${statusOf('mute', 'UNBANNED')} <t:${epoch('2026-11-10T12:00:00Z')}:R> ${liftedBy('Ola')}`,
      `-# #N · ${durationInWords(1440)} · Ala · ${noServer} · <t:${epoch('2026-11-10T10:00:00Z')}:R> · ${liftReason('Appeal\\_1')}`,
    ]);
    const inPolish = await choose(exchange, /^record\.status/, 'UNBANNED', { ...member, locale: 'pl' });
    expect(textOf(inPolish)).toMatch(
      /Wyciszenie głosu: Spam – zdjęte <t:\d+:R> przez Ola\n.* · „Appeal\\_1”/,
    );
  });

  test('filters by type and status, both kept while paging, the summary always whole', async () => {
    const start = await fake.command('ban-check', {}, member);
    const menu = findComponent(start.message, /^record\.type/);
    expect(menu?.options?.map(({ label }) => label)).toEqual([
      en.record.everyType,
      `${en.record.types.ban} (2)`,
      `${en.record.types.mute} (1)`,
      `${en.record.types.gag} (1)`,
      `${en.record.types.silence} (0)`,
      `${en.record.types.warn} (8)`,
    ]);
    const warnings = await choose(start, /^record\.type/, 'warn', member);
    expect(embedsOf(warnings)[0]?.footer?.text).toBe(en.record.page({ page: 1, lastPage: 2, total: 8 }));
    expect(embedsOf(warnings)[0]?.description).toContain(en.record.count('ban', 2));
    const page = await press(warnings, en.buttons.next, member);
    expect(entriesOf(page)).toHaveLength(3);
    expect(entriesOf(page).every((line) => line.includes(en.record.types.warn))).toBe(true);
    const none = await choose(page, /^record\.status/, 'ACTIVE', member);
    expect(entriesOf(none)).toHaveLength(0);
    expect(embedsOf(none)[0]?.description).toContain(en.record.nothingMatches);
    const all = await choose(none, /^record\.type/, '-', member);
    expect(embedsOf(all)[0]?.footer?.text).toBe(en.record.page({ page: 1, lastPage: 1, total: 2 }));
  });
});
