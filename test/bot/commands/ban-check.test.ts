import { describe, expect, test } from 'bun:test';
import { insertSampleRecords, RECORDS_NOW } from '../../support/bot/records.ts';
import { startTestBot } from '../../support/bot.ts';
import { aSteamId } from '../../support/builders.ts';
import { type Actor, anActor } from '../../support/discord/actor.ts';
import { type Exchange, messageOf } from '../../support/discord/exchange.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';

const resolveVanity = async (name: string) => (name === 'zbanowany' ? aSteamId(1) : undefined);
const { fake, db, connect } = await startTestBot({ bot: { now: () => RECORDS_NOW, resolveVanity } });
const member = anActor({ userId: '700000000000000001' });
const moderator = anActor({ isModerator: true });
const unlinked = anActor();
await insertSampleRecords(db, { discordId: member.user.id });
await connect();

const embedsOf = ({ message }: Exchange) => message?.embeds ?? [];
const textOf = (exchange: Exchange) => embedsOf(exchange)[0]?.description;
const epoch = (text: string) => Date.parse(text) / 1000;
const press = (exchange: Exchange, label: string, actor: Actor) =>
  fake.press(messageOf(exchange), findButton(exchange.message, label)?.custom_id ?? '', actor);
const choose = (exchange: Exchange, name: RegExp, value: string, actor: Actor) =>
  fake.select(messageOf(exchange), findComponent(exchange.message, name)?.custom_id ?? '', [value], actor);

describe('/ban-check of oneself', () => {
  test('without an option shows the own record, to the invoker alone, active penalties first', async () => {
    const exchange = await fake.command('ban-check', {}, member);
    expect(exchange.callback).toBe(4);
    expect(isEphemeral(exchange.message)).toBe(true);
    expect(exchange.message?.allowedMentions).toEqual({ parse: [] });
    const [summary, ...penalties] = embedsOf(exchange);
    expect(summary).toEqual({
      title: '⛔ Penalties of Rzeźnik\\_1',
      color: 0xed4245,
      description: `\`${aSteamId(1)}\`\n**Active:** 1 ban · 1 gag\n**On record:** 2 bans · 1 mute · 1 gag · 8 warnings`,
      footer: { text: 'Page 1 of 3 · 12 penalties' },
    });
    expect(penalties.map(({ title }) => title?.replace(/\d+$/, 'N'))).toEqual([
      '🔴 Active · Gag #N',
      '🔴 Active · Ban #N',
      '⚪ Expired · Ban #N',
      '⚪ Expired · Warning #N',
      '⚪ Expired · Warning #N',
    ]);
    expect(penalties.map(({ color }) => color)).toEqual([0xed4245, 0xed4245, 0x747f8d, 0x747f8d, 0x747f8d]);
  });

  test('quotes and escapes the reason, and tells admin, server, duration and times', async () => {
    const [, gag, ban, expired] = embedsOf(await fake.command('ban-check', {}, member));
    expect(ban?.description).toBe('> \\`wall\\` \\@everyone \\# \\[hack\\](https\\://x.y)');
    expect(ban?.fields).toEqual([
      { name: 'Duration', value: 'permanent', inline: true },
      {
        name: 'Issued',
        value: `<t:${epoch('2026-10-01T10:00:00Z')}:f> (<t:${epoch('2026-10-01T10:00:00Z')}:R>)`,
        inline: true,
      },
      { name: 'Ends', value: 'never', inline: true },
      { name: 'Admin', value: 'Ala\\_\\*', inline: true },
      { name: 'Server', value: 'Only \\*Mirage\\*', inline: true },
    ]);
    expect(gag?.description).toBe('> no reason given');
    expect(gag?.fields).toMatchObject([
      { value: '2 hours' },
      {},
      {
        name: 'Ends',
        value: `<t:${epoch('2026-11-21T13:00:00Z')}:f> (<t:${epoch('2026-11-21T13:00:00Z')}:R>)`,
      },
      { value: aSteamId(900) },
      { value: '\\#4242' },
    ]);
    expect(expired?.fields?.[0]?.value).toBe('1 hour, 30 minutes');
    expect(expired?.fields?.[2]).toMatchObject({
      name: 'Ended',
      value: expect.stringContaining(`<t:${epoch('2026-11-20T11:30:00Z')}:R>`),
    });
  });

  test('speaks Polish, with its plural forms', async () => {
    const exchange = await fake.command('ban-check', {}, { ...member, locale: 'pl' });
    const [summary, gag, ban] = embedsOf(exchange);
    expect(summary?.title).toBe('⛔ Kary gracza Rzeźnik\\_1');
    expect(summary?.description).toBe(
      `\`${aSteamId(1)}\`\n**Aktywne:** 1 ban · 1 blokada czatu\n**W historii:** 2 bany · 1 wyciszenie głosu · 1 blokada czatu · 8 ostrzeżeń`,
    );
    expect(summary?.footer?.text).toBe('Strona 1 z 3 · 12 kar');
    expect(gag?.title).toMatch(/^🔴 Aktywny · Blokada czatu #\d+$/);
    expect(gag?.description).toBe('> nie podano powodu');
    expect(gag?.fields?.map(({ name }) => name)).toEqual([
      'Czas trwania',
      'Nadano',
      'Kończy się',
      'Admin',
      'Serwer',
    ]);
    expect(gag?.fields?.[0]?.value).toBe('2 godziny');
    expect(ban?.fields?.[0]?.value).toBe('na stałe');
  });

  test('says how to link an account when there is none', async () => {
    const english = await fake.command('ban-check', {}, unlinked);
    expect(isEphemeral(english.message)).toBe(true);
    expect(textOf(english)).toContain('not linked');
    expect(findButton(english.message, 'Link my account')?.url).toBe('https://play.example.org/account');
    expect(textOf(await fake.command('ban-check', {}, { ...unlinked, locale: 'pl' }))).toContain(
      'nie jest jeszcze połączone',
    );
  });

  test('works in a direct message', async () => {
    const exchange = await fake.command('ban-check', {}, { ...member, guildId: undefined, permissions: '0' });
    expect(embedsOf(exchange)[0]?.title).toBe('⛔ Penalties of Rzeźnik\\_1');
  });

  test("accepts one's own SteamID in any notation, and oneself as the Discord user", async () => {
    const id = BigInt(aSteamId(1)) - 76561197960265728n;
    for (const steamid of [
      aSteamId(1),
      `STEAM_1:${id % 2n}:${id / 2n}`,
      `[U:1:${id}]`,
      `https://steamcommunity.com/profiles/${aSteamId(1)}/`,
    ]) {
      expect(embedsOf(await fake.command('ban-check', { steamid }, member))[0]?.title).toContain('Rzeźnik');
    }
    expect(
      embedsOf(await fake.command('ban-check', { user: { user: member.user } }, member))[0]?.title,
    ).toContain('Rzeźnik');
  });
});

describe('/ban-check of others', () => {
  test('is for moderators: by any notation, profile address, custom address or Discord user', async () => {
    const id = BigInt(aSteamId(1)) - 76561197960265728n;
    for (const options of [
      { steamid: aSteamId(1) },
      { steamid: `STEAM_0:${id % 2n}:${id / 2n}` },
      { steamid: `[U:1:${id}]` },
      { steamid: `https://steamcommunity.com/profiles/${aSteamId(1)}` },
      { steamid: 'steamcommunity.com/id/zbanowany/' },
      { user: { user: member.user } },
      // The Discord user wins, as in the API's lookup.
      { user: { user: member.user }, steamid: aSteamId(2) },
    ]) {
      const exchange = await fake.command('ban-check', options, moderator);
      expect(embedsOf(exchange)[0]?.title).toBe('⛔ Penalties of Rzeźnik\\_1');
      expect(isEphemeral(exchange.message)).toBe(true);
    }
  });

  test('tells of a clean record, an unlinked user and what is no SteamID', async () => {
    const clean = await fake.command('ban-check', { steamid: aSteamId(2) }, { ...moderator, locale: 'pl' });
    expect(embedsOf(clean)).toMatchObject([
      { title: '✅ Kary gracza Clean', description: `\`${aSteamId(2)}\`\nBrak kar. 🎉` },
    ]);
    const nobody = await fake.command('ban-check', { user: { user: unlinked.user } }, moderator);
    expect(textOf(nobody)).toBe(`<@${unlinked.user.id}> has no linked Steam account.`);
    expect(textOf(await fake.command('ban-check', { steamid: '**x**' }, moderator))).toStartWith(
      '**\\*\\*x\\*\\*** is not a SteamID.',
    );
    expect(
      textOf(await fake.command('ban-check', { steamid: 'https://steamcommunity.com/id/nobody' }, moderator)),
    ).toBe('Steam knows no profile **nobody**.');
  });

  test('`show` makes it public for a moderator, in the language of the guild; others stay private', async () => {
    const shown = await fake.command(
      'ban-check',
      { steamid: aSteamId(1), show: true },
      { ...moderator, guildLocale: 'pl' },
    );
    expect(isEphemeral(shown.message)).toBe(false);
    expect(embedsOf(shown)[0]?.title).toBe('⛔ Kary gracza Rzeźnik\\_1');
    const own = await fake.command('ban-check', { show: true }, { ...member, guildLocale: 'pl' });
    expect(isEphemeral(own.message)).toBe(true);
    expect(embedsOf(own)[0]?.title).toBe('⛔ Penalties of Rzeźnik\\_1');
  });

  test('the entry "Check bans" of the user menu opens the same', async () => {
    const exchange = await fake.userMenu('Check bans', member.user, moderator);
    expect(isEphemeral(exchange.message)).toBe(true);
    expect(embedsOf(exchange)[0]?.title).toBe('⛔ Penalties of Rzeźnik\\_1');
    expect(embedsOf(await fake.userMenu('Check bans', member.user, member))[0]?.title).toContain('Rzeźnik');
  });
});

describe('pages and filters', () => {
  test('pages of five with disabled edges', async () => {
    const first = await fake.command('ban-check', {}, member);
    expect(
      ['First page', 'Previous', 'Next', 'Last page'].map(
        (label) => findButton(first.message, label)?.disabled,
      ),
    ).toEqual([true, true, false, false]);
    const second = await press(first, 'Next', member);
    expect(second.callback).toBe(7);
    expect(embedsOf(second)).toHaveLength(6);
    expect(embedsOf(second)[0]?.footer?.text).toBe('Page 2 of 3 · 12 penalties');
    const last = await press(second, 'Last page', member);
    expect(embedsOf(last)).toHaveLength(3);
    expect(embedsOf(last).at(-1)?.title).toMatch(/^🟢 Lifted · Mute/);
    expect(
      ['First page', 'Previous', 'Next', 'Last page'].map(
        (label) => findButton(last.message, label)?.disabled,
      ),
    ).toEqual([false, false, true, true]);
    expect(embedsOf(await press(last, 'First page', member))[0]?.footer?.text).toBe(
      'Page 1 of 3 · 12 penalties',
    );
  });

  test('tells who lifted a penalty, when and why', async () => {
    const exchange = await fake.command('ban-check', {}, member);
    const [, lifted] = embedsOf(await choose(exchange, /^record\.status/, 'UNBANNED', member));
    expect(lifted?.color).toBe(0x3ba55d);
    expect(lifted?.fields?.at(-1)).toEqual({
      name: 'Lifted',
      value: `<t:${epoch('2026-11-10T12:00:00Z')}:R> by Ola\n> Appeal\\_1`,
    });
    expect(lifted?.fields?.find(({ name }) => name === 'Server')?.value).toBe('all servers');
  });

  test('filters by type and status, both kept while paging, the summary always whole', async () => {
    const start = await fake.command('ban-check', {}, member);
    const menu = findComponent(start.message, /^record\.type/);
    expect(menu?.options?.map(({ label }) => label)).toEqual([
      'All types',
      'Ban (2)',
      'Mute (1)',
      'Gag (1)',
      'Silence (0)',
      'Warning (8)',
    ]);
    const warnings = await choose(start, /^record\.type/, 'warn', member);
    expect(embedsOf(warnings)[0]?.footer?.text).toBe('Page 1 of 2 · 8 penalties');
    expect(embedsOf(warnings)[0]?.description).toContain('2 bans');
    const page = await press(warnings, 'Next', member);
    expect(embedsOf(page)).toHaveLength(4);
    expect(
      embedsOf(page)
        .slice(1)
        .every(({ title }) => title?.includes('Warning')),
    ).toBe(true);
    const none = await choose(page, /^record\.status/, 'ACTIVE', member);
    expect(embedsOf(none)).toHaveLength(1);
    expect(embedsOf(none)[0]?.description).toContain('No penalty matches these filters.');
    const all = await choose(none, /^record\.type/, '-', member);
    expect(embedsOf(all)[0]?.footer?.text).toBe('Page 1 of 1 · 2 penalties');
  });
});
