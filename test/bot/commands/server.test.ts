import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { insertSampleServers } from '../../support/bot/servers.ts';
import { insertServer } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { embedOf, messageOf, textOf } from '../../support/discord/exchange.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;
const offline = en.server.offline.toLowerCase();

const harness = await startTestBot();
const { fake, poll, deps } = harness;
const ids = await insertSampleServers(harness);
const polish = { locale: 'pl', guildLocale: 'pl' };
await harness.connect();

describe('autocomplete of /server', () => {
  test('names map and players, those online first, with the slug as the value', async () => {
    const { choices } = await fake.autocomplete('server', 'name', '');
    expect(choices).toEqual([
      { name: 'Mirage *24/7* · de_mirage · 31/32', value: 'mirage-24-7' },
      { name: 'Retake · de_inferno · 1/10', value: 'retake' },
      { name: `Fresh · ${offline}`, value: 'fresh' },
      { name: `Łódź Arena · ${offline}`, value: 'arena' },
    ]);
  });

  test('puts servers with a lower position first, after those that are online', async () => {
    const move = async (position: number) => {
      await harness.db.update(servers).set({ position }).where(eq(servers.id, ids.mirage));
      await harness.refreshServers();
    };
    await move(1);
    const { choices } = await fake.autocomplete('server', 'name', '');
    await move(0);
    expect(choices?.map(({ value }) => value)).toEqual(['retake', 'mirage-24-7', 'fresh', 'arena']);
  });

  test('finds by a part of name, map or slug, without diacritics', async () => {
    const actor = anActor();
    expect((await fake.autocomplete('server', 'name', 'lodz', actor)).choices).toEqual([
      { name: `Łódź Arena · ${offline}`, value: 'arena' },
    ]);
    expect(
      (await fake.autocomplete('server', 'name', 'INFERNO', actor)).choices?.map(({ value }) => value),
    ).toEqual(['retake']);
    expect((await fake.autocomplete('server', 'name', 'no such thing', actor)).choices).toEqual([]);
  });
});

describe('/server without an option', () => {
  test('lists all servers with totals and a menu, for everyone to see', async () => {
    const { message } = await fake.command('server');
    expect(isEphemeral(message)).toBe(false);
    expect(message?.allowedMentions).toEqual({ parse: [] });
    const [embed] = message?.embeds ?? [];
    expect(embed?.title).toBe(en.server.allServers);
    expect(embed?.description).toMatch(
      /^\*\*2 of 4 servers online · 32\/42 players\*\*\nUpdated <t:\d+:R>\n\n/,
    );
    expect(embed?.description).toContain(
      '🟢 **Mirage \\*24/7\\*** · de\\_mirage · 31/32\n🟢 **Retake** · de\\_inferno · 1/10\n🔴 **Fresh** · offline',
    );
    const menu = findComponent(message, /^server\.open/);
    expect(menu?.options?.map(({ label, value, description }) => ({ label, value, description }))).toEqual([
      { label: 'Mirage *24/7*', value: String(ids.mirage), description: 'de_mirage · 31/32' },
      { label: 'Retake', value: String(ids.retake), description: 'de_inferno · 1/10' },
      { label: 'Fresh', value: String(ids.fresh), description: en.server.offline },
      { label: 'Łódź Arena', value: String(ids.arena), description: en.server.offline },
    ]);
  });

  test('/server without an option is in the language of the guild, as everyone sees it', async () => {
    const { message } = await fake.command('server', {}, anActor({ locale: 'en-US', guildLocale: 'pl' }));
    expect(message?.embeds[0]?.title).toBe(pl.server.allServers);
    expect(message?.embeds[0]?.description).toContain('Online: 2 z 4 serwerów · 32/42 graczy');
    expect(message?.embeds[0]?.description).toMatch(new RegExp(pl.server.updated('<t:\\d+:R>')));
  });

  test('opens a server in the message of its invoker, and in a new one for others', async () => {
    const invoker = anActor();
    const message = messageOf(await fake.command('server', {}, invoker));
    const menu = findComponent(message, /^server\.open/)?.custom_id ?? '';
    const other = await fake.select(message, menu, [String(ids.retake)], anActor(polish));
    expect(other.callback).toBe(4);
    expect(isEphemeral(other.message)).toBe(true);
    expect(embedOf(other).fields?.[0]).toMatchObject({
      name: pl.server.map,
      value: 'de\\_inferno',
    });
    const own = await fake.select(message, menu, [String(ids.mirage)], invoker);
    expect(own.callback).toBe(7);
    expect(embedOf(own).title).toBe('Mirage \\*24/7\\*');
    const list = await fake.click(own.message, en.buttons.allServers, invoker);
    expect(embedOf(list).title).toBe(en.server.allServers);
    expect(list.message?.attachments).toEqual([]);
  });
});

describe('the card of a server', () => {
  test('tells map, mode, region, players, ping, address and when it was updated', async () => {
    const { message } = await fake.command('server', { name: 'mirage-24-7' });
    const [embed] = message?.embeds ?? [];
    expect(embed?.title).toBe('Mirage \\*24/7\\*');
    expect(embed?.description).toBe('*CS2 \\| Mirage*');
    expect(embed?.fields?.slice(0, 6)).toEqual([
      { name: en.server.map, value: 'de\\_mirage', inline: true },
      { name: en.server.mode, value: 'Deathmatch', inline: true },
      { name: en.server.region, value: 'PL', inline: true },
      { name: en.server.players, value: '31/32 (97%)', inline: true },
      { name: en.server.ping, value: en.server.milliseconds(23), inline: true },
      { name: en.server.address, value: '`203.0.113.5:27015`', inline: true },
    ]);
    expect(embed?.fields?.at(-1)?.value).toMatch(new RegExp(`^${en.server.updated('<t:\\d+:R>')}$`));
  });

  test('lists players by score, escaped, and cuts before 1024 characters', async () => {
    const { message } = await fake.command('server', { name: 'mirage-24-7' }, anActor(polish));
    const field = message?.embeds[0]?.fields?.find(({ name }) => name === pl.server.playerCount(31));
    const lines = field?.value.split('\n') ?? [];
    expect(lines[0]).toBe('` 100` \\@everyone \\[free\\](https\\://evil.example) \\*\\*knives\\*\\*');
    expect(lines[1]).toBe('`  99` Player number 1 of the day');
    const left = Number(/^… i jeszcze (\d+)$/.exec(lines.at(-1) ?? '')?.[1]);
    expect(left).toBe(31 - (lines.length - 1));
    expect(field?.value.length).toBeLessThanOrEqual(1024);
  });

  test('carries the last 24 hours as a PNG with alt text in the language of the reader', async () => {
    const { message } = await fake.command('server', { name: 'mirage-24-7' }, anActor(polish));
    expect(message?.embeds[0]?.image).toEqual({ url: 'attachment://players.png' });
    const [file] = message?.files ?? [];
    expect(Buffer.from(file?.bytes.slice(0, 8) ?? []).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect(message?.attachments[0]?.description).toMatch(
      /^Wykres liczby graczy z ostatnich 24 godzin: najwięcej 31 graczy \(.+\), średnio [\d,]+; z przerwami, gdy serwer był offline \(liczą się jako 0\)\.$/,
    );
  });

  test('tells when an offline server was last seen, and no stale players', async () => {
    const { message } = await fake.command('server', { name: 'arena' });
    const [embed] = message?.embeds ?? [];
    expect(embed?.description).toContain(
      `🔴 ${en.server.offlineSince(`<t:${Date.parse('2026-11-20T10:00:00Z') / 1000}:R>`)}`,
    );
    expect(JSON.stringify(embed)).not.toContain('Stale');
    expect(JSON.stringify(embed)).not.toContain('am_ramps');
    expect(embed?.fields?.map(({ name }) => name)).not.toContain(en.server.players);
    expect(findButton(message, en.buttons.players)?.disabled).toBe(true);
    expect(findButton(message, en.buttons.connect)).toBeUndefined();
  });

  test('says so when the server tells no names, and when it was never polled', async () => {
    const retake = await fake.command('server', { name: 'retake' });
    expect(embedOf(retake).fields).toContainEqual({
      name: en.server.playerCount(1),
      value: en.server.namesUnknown,
    });
    const fresh = await fake.command('server', { name: 'fresh' }, anActor(polish));
    expect(textOf(fresh)).toBe(`⚪ ${pl.server.notPolled}`);
    expect(fresh.message?.attachments).toEqual([]);
  });

  test('accepts a whole name in place of a slug, and refuses a text that names no server, visible only to the invoker', async () => {
    expect(embedOf(await fake.command('server', { name: 'łódź arena' })).title).toBe('Łódź Arena');
    const { message } = await fake.command('server', { name: '**nope** @here' }, anActor({ locale: 'pl' }));
    expect(isEphemeral(message)).toBe(true);
    expect(message?.embeds[0]?.description).toBe(pl.refusals.serverNotFound('\\*\\*nope\\*\\* \\@here'));
  });
});

describe('buttons of the card', () => {
  test('leads to its page and to our own address for playing, as Discord takes no steam://', async () => {
    const { message } = await fake.command('server', { name: 'mirage-24-7' });
    expect(findButton(message, en.buttons.connect)).toMatchObject({
      style: 5,
      url: `${deps.publicUrl}/connect/mirage-24-7`,
    });
    expect(findButton(message, en.buttons.site)?.url).toBe(`${deps.publicUrl}/servers/mirage-24-7`);
    const list = await fake.command('server');
    expect(findButton(list.message, en.buttons.site)?.url).toBe(`${deps.publicUrl}/`);
  });

  test('Refresh shows the newest poll in the same message, for anyone, also after a restart', async () => {
    const message = messageOf(await fake.command('server', { name: 'retake' }));
    await poll(ids.retake, {
      map: 'de_nuke',
      playersCount: 2,
      maxPlayers: 10,
      players: [{ name: 'Ewa', score: 7 }],
    });
    await harness.refreshServers();
    const refresh = findButton(message, en.buttons.refresh)?.custom_id ?? '';
    const exchange = await fake.press(message, refresh, anActor());
    expect(exchange.callback).toBe(7);
    expect(embedOf(exchange).fields?.[0]).toMatchObject({ value: 'de\\_nuke' });
    expect(embedOf(exchange).fields?.at(-2)).toMatchObject({
      name: en.server.playerCount(2),
      value: `\`   7\` Ewa\n${en.server.more(1)}`,
    });
  });

  test('Players shows everybody to the one who pressed, in pages', async () => {
    const many = Array.from({ length: 40 }, (_, number) => ({ name: `N${number}`, score: 40 - number }));
    await poll(ids.retake, { playersCount: 40, maxPlayers: 64, players: many });
    await harness.refreshServers();
    const message = messageOf(await fake.command('server', { name: 'retake' }));
    const actor = anActor({ locale: 'pl' });
    const first = await fake.click(message, en.buttons.players, actor);
    expect(isEphemeral(first.message)).toBe(true);
    expect(embedOf(first).title).toBe(pl.server.playersOf('Retake'));
    expect(textOf(first)).toContain('`  40` N0\n');
    expect(textOf(first)).not.toContain('N32');
    expect(findButton(first.message, pl.buttons.previous)?.disabled).toBe(true);
    const page = messageOf(first);
    const second = await fake.click(page, pl.buttons.next, actor);
    expect(second.callback).toBe(7);
    expect(textOf(second)).toContain('N39');
    expect(findButton(second.message, pl.buttons.next)?.disabled).toBe(true);
  });

  test('Players shows each of them on some page, whatever their names', async () => {
    const names = Array.from({ length: 64 }, (_, number) => `P${number}${'_'.repeat(60)}`);
    const players = names.map((name) => ({ name, score: -2_147_483_648 }));
    await poll(ids.retake, { playersCount: 64, maxPlayers: 64, players });
    await harness.refreshServers();
    const message = messageOf(await fake.command('server', { name: 'retake' }));
    const actor = anActor();
    const first = messageOf(await fake.click(message, en.buttons.players, actor));
    const shown = [first.embeds[0]?.description];
    const second = await fake.click(first, en.buttons.next, actor);
    shown.push(textOf(second));
    const listed = [...shown.join('\n').matchAll(/` (P\d+)\\_/g)].map(([, name]) => name);
    expect(listed).toEqual(Array.from({ length: 64 }, (_, number) => `P${number}`));
  });

  test('a forged or outdated custom_id is refused', async () => {
    const message = messageOf(await fake.command('server', { name: 'mirage-24-7' }));
    for (const id of [
      'server.refresh:999999:1',
      'server.refresh:x',
      'server.refresh:',
      'nothing:1',
      '__proto__',
      'constructor',
      '',
    ]) {
      const exchange = await fake.press(message, id, anActor(), { forged: true });
      expect(exchange.callback).toBe(4);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(exchange.message?.embeds).toHaveLength(1);
    }
  });
});

test('tells people who wait for a place since when the server has been full, also after a restart', async () => {
  const { id } = await insertServer(harness.db, { slug: 'full', name: 'Full one' });
  const start = Date.parse('2026-11-21T10:00:00Z');
  const state = { playersCount: 10, maxPlayers: 10 };
  const read = async (actor = anActor()) => {
    await harness.refreshServers();
    return textOf(await fake.command('server', { name: 'full' }, actor));
  };
  const at = (minutes: number) => new Date(start + minutes * 60_000);
  await poll(id, { ...state, playersCount: 9 }, at(0));
  expect(await read()).toBe('*A host*');
  await poll(id, state, at(1));
  // Neither a missed poll nor more players than slots ends the time it has been full.
  await poll(id, undefined, at(2));
  await poll(id, { ...state, playersCount: 11 }, at(3));
  const since = at(1).getTime() / 1000;
  const full = { maxPlayers: 10, since: `<t:${since}:t> (<t:${since}:R>)` };
  expect(await read()).toBe(`*A host*\n🟠 ${en.server.full({ players: 11, ...full })}`);
  await harness.bot.stop();
  const next = await harness.startNext();
  await poll(id, state, at(4));
  expect(await read(anActor(polish))).toBe(`*A host*\n🟠 ${pl.server.full({ players: 10, ...full })}`);
  // Between polls three hours apart nothing is known.
  await poll(id, state, at(184));
  expect(await read()).toContain(`since <t:${at(184).getTime() / 1000}:t>`);
  await poll(id, { ...state, playersCount: 9 }, at(185));
  expect(await read()).toBe('*A host*');
  await poll(id, state, at(186));
  await poll(id, undefined, at(187));
  await poll(id, undefined, at(188));
  expect(await read()).not.toContain('Full');
  await poll(id, state, at(189));
  expect(await read()).toContain(`since <t:${at(189).getTime() / 1000}:t>`);
  await next.stop();
});
