import { describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { serverSamples, servers } from '../../../src/db/schema/servers.ts';
import { PUBLIC_URL, startTestBot } from '../../support/bot/bot.ts';
import { insertServer } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { embedOf, messageOf, textOf } from '../../support/discord/exchange.ts';
import { findButton, findComponent, isEphemeral } from '../../support/discord/messages.ts';

const { en, pl } = BOT_TEXTS;
const offline = en.server.offline.toLowerCase();

const harness = await startTestBot();
const { fake, db, poll } = harness;
const polish = { locale: 'pl', guildLocale: 'pl' };

/** 31 of 32 players, a hostile name, and a day of history. */
const mirage = await insertServer(db, {
  slug: 'mirage-24-7',
  name: 'Mirage *24/7*',
  address: '203.0.113.5:27015',
  mode: 'Deathmatch',
  region: 'PL',
});
await poll(mirage.id, {
  hostname: 'CS2 | Mirage',
  map: 'workshop/3070284539/de_mirage',
  playersCount: 31,
  pingMs: 23,
  players: Array.from({ length: 30 }, (_, number) => ({
    name:
      number === 0
        ? '@everyone [free](https://evil.example) **knives**'
        : `Player number ${number} of the day`,
    score: 100 - number,
  })),
});
const now = Math.floor(Date.now() / 300_000) * 300_000;
await db.insert(serverSamples).values(
  Array.from({ length: 280 }, (_, step) => ({
    serverId: mirage.id,
    sampledAt: new Date(now - (step + 2) * 300_000),
    periodSeconds: 300,
    playersAverage: 12 + Math.sin(step / 20) * 10,
    playersMaximum: 24,
    maxPlayers: 32,
    onlineShare: step > 60 && step < 80 ? 0 : 1,
  })),
);
/** One player, whose name is not told. */
const retake = await insertServer(db, { slug: 'retake', name: 'Retake', mode: 'Retake', region: 'EU' });
await poll(retake.id, { map: 'workshop/3070284540/de_inferno', playersCount: 1, maxPlayers: 10 });
/** Offline since 10:00:00. */
const arena = await insertServer(db, { slug: 'arena', name: 'Łódź Arena' });
const stale = { map: 'am_ramps', playersCount: 9, players: [{ name: 'Stale', score: 3 }] };
await poll(arena.id, stale, new Date('2026-11-20T10:00:00Z'));
for (const second of [15, 30]) await poll(arena.id, undefined, new Date(`2026-11-20T10:00:${second}Z`));
/** Never polled. */
const fresh = await insertServer(db, { slug: 'fresh', name: 'Fresh' });
await harness.refreshServers();
await harness.connect();

const show = (name: string, actor = anActor()) => fake.command('server', { name }, actor);

describe('autocomplete of /server', () => {
  const suggest = async (typed: string) => (await fake.autocomplete('server', 'name', typed)).choices;

  test('names map and players, those online first, with the slug as the value', async () => {
    expect(await suggest('')).toEqual([
      { name: 'Mirage *24/7* · de_mirage · 31/32', value: 'mirage-24-7' },
      { name: 'Retake · de_inferno · 1/10', value: 'retake' },
      { name: `Fresh · ${offline}`, value: 'fresh' },
      { name: `Łódź Arena · ${offline}`, value: 'arena' },
    ]);
  });

  test('puts servers with a lower position first, after those that are online', async () => {
    const move = async (position: number) => {
      await db.update(servers).set({ position }).where(eq(servers.id, mirage.id));
      await harness.refreshServers();
    };
    await move(1);
    const choices = await suggest('');
    await move(0);
    expect(choices?.map(({ value }) => value)).toEqual(['retake', 'mirage-24-7', 'fresh', 'arena']);
  });

  test('finds by a part of name, map or slug, without diacritics', async () => {
    expect(await suggest('lodz')).toEqual([{ name: `Łódź Arena · ${offline}`, value: 'arena' }]);
    expect((await suggest('INFERNO'))?.map(({ value }) => value)).toEqual(['retake']);
    expect(await suggest('no such thing')).toEqual([]);
  });
});

test.each([
  ['the value of a suggestion', 'MIRAGE-24-7'],
  ['the label of a suggestion', 'Mirage *24/7* · de_mirage · 31/32'],
  ['a label whose map and players have changed', 'mirage *24/7* · de_nuke · 3/32'],
  ['a part that only one server has', '24/7'],
])('/server finds a server by %s', async (_, name) => {
  expect(embedOf(await show(name)).title).toBe('Mirage \\*24/7\\*');
});

test('/server does not guess which of several servers is meant', async () => {
  expect(textOf(await show('re'))).toBe(en.refusals.serverNotFound('re'));
});

describe('/server without an option', () => {
  test('lists all servers with totals and a menu, for everyone to see', async () => {
    const exchange = await fake.command('server');
    const { message } = exchange;
    expect(isEphemeral(message)).toBe(false);
    expect(message?.allowedMentions).toEqual({ parse: [] });
    expect(embedOf(exchange).title).toBe(en.server.allServers);
    expect(textOf(exchange)).toMatch(
      /^\*\*2 of 4 servers online · 32\/42 players\*\*\nUpdated <t:\d+:R>\n\n/,
    );
    expect(textOf(exchange)).toContain(
      '🟢 **Mirage \\*24/7\\*** · de\\_mirage · 31/32\n🟢 **Retake** · de\\_inferno · 1/10\n🔴 **Fresh** · offline',
    );
    const menu = findComponent(message, /^server\.open/);
    expect(menu?.options?.map(({ label, value, description }) => ({ label, value, description }))).toEqual([
      { label: 'Mirage *24/7*', value: String(mirage.id), description: 'de_mirage · 31/32' },
      { label: 'Retake', value: String(retake.id), description: 'de_inferno · 1/10' },
      { label: 'Fresh', value: String(fresh.id), description: en.server.offline },
      { label: 'Łódź Arena', value: String(arena.id), description: en.server.offline },
    ]);
  });

  test('/server without an option is in the language of the guild, as everyone sees it', async () => {
    const exchange = await fake.command('server', {}, anActor({ guildLocale: 'pl' }));
    expect(embedOf(exchange).title).toBe(pl.server.allServers);
    expect(textOf(exchange)).toContain('Online: 2 z 4 serwerów · 32/42 graczy');
    expect(textOf(exchange)).toMatch(new RegExp(pl.server.updated('<t:\\d+:R>')));
  });

  test('opens a server in the message of its invoker, and in a new one for others', async () => {
    const invoker = anActor();
    const { message } = await fake.command('server', {}, invoker);
    const other = await fake.choose(message, /^server\.open/, `${retake.id}`, anActor(polish));
    expect(other.callback).toBe(4);
    expect(isEphemeral(other.message)).toBe(true);
    expect(embedOf(other).fields?.[0]).toMatchObject({ name: pl.server.map, value: 'de\\_inferno' });
    const own = await fake.choose(message, /^server\.open/, `${mirage.id}`, invoker);
    expect(own.callback).toBe(7);
    expect(embedOf(own).title).toBe('Mirage \\*24/7\\*');
    const list = await fake.click(own.message, en.buttons.allServers, invoker);
    expect(embedOf(list).title).toBe(en.server.allServers);
    expect(list.message?.attachments).toEqual([]);
  });
});

describe('the card of a server', () => {
  test('tells map, mode, region, players, ping, address and when it was updated', async () => {
    const { title, description, fields } = embedOf(await show('mirage-24-7'));
    expect(title).toBe('Mirage \\*24/7\\*');
    expect(description).toBe('*CS2 \\| Mirage*');
    expect(fields?.slice(0, 6)).toEqual([
      { name: en.server.map, value: 'de\\_mirage', inline: true },
      { name: en.server.mode, value: 'Deathmatch', inline: true },
      { name: en.server.region, value: 'PL', inline: true },
      { name: en.server.players, value: '31/32 (97%)', inline: true },
      { name: en.server.ping, value: en.server.milliseconds(23), inline: true },
      { name: en.server.address, value: '`203.0.113.5:27015`', inline: true },
    ]);
    expect(fields?.at(-1)?.value).toMatch(new RegExp(`^${en.server.updated('<t:\\d+:R>')}$`));
  });

  test('lists players by score, escaped, and cuts before 1024 characters', async () => {
    const { fields } = embedOf(await show('mirage-24-7', anActor(polish)));
    const field = fields?.find(({ name }) => name === pl.server.playerCount(31));
    const lines = field?.value.split('\n') ?? [];
    expect(lines[0]).toBe('` 100` \\@everyone \\[free\\](https\\://evil.example) \\*\\*knives\\*\\*');
    expect(lines[1]).toBe('`  99` Player number 1 of the day');
    const left = Number(/^… i jeszcze (\d+)$/.exec(lines.at(-1) ?? '')?.[1]);
    expect(left).toBe(31 - (lines.length - 1));
    expect(field?.value.length).toBeLessThanOrEqual(1024);
  });

  test('carries the last 24 hours as a PNG with alt text in the language of the reader', async () => {
    const { message } = await show('mirage-24-7', anActor(polish));
    expect(message?.embeds[0]?.image).toEqual({ url: 'attachment://players.png' });
    const [file] = message?.files ?? [];
    expect(Buffer.from(file?.bytes.slice(0, 8) ?? []).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
    expect(message?.attachments[0]?.description).toMatch(
      /^Wykres liczby graczy z ostatnich 24 godzin: najwięcej 31 graczy \(.+\), średnio [\d,]+; z przerwami, gdy serwer był offline \(liczą się jako 0\)\.$/,
    );
  });

  test('tells when an offline server was last seen, and no stale players', async () => {
    const exchange = await show('arena');
    const { message } = exchange;
    const since = `<t:${Date.parse('2026-11-20T10:00:00Z') / 1000}:R>`;
    expect(textOf(exchange)).toContain(`🔴 ${en.server.offlineSince(since)}`);
    expect(JSON.stringify(message?.embeds)).not.toMatch(/Stale|am_ramps/);
    expect(embedOf(exchange).fields?.map(({ name }) => name)).not.toContain(en.server.players);
    expect(findButton(message, en.buttons.players)?.disabled).toBe(true);
    expect(findButton(message, en.buttons.connect)).toBeUndefined();
  });

  test('says so when the server tells no names, and when it was never polled', async () => {
    const { playerCount, namesUnknown } = en.server;
    const { fields } = embedOf(await show('retake'));
    expect(fields).toContainEqual({ name: playerCount(1), value: namesUnknown });
    const exchange = await show('fresh', anActor(polish));
    expect(textOf(exchange)).toBe(`⚪ ${pl.server.notPolled}`);
    expect(exchange.message?.attachments).toEqual([]);
  });

  test('accepts a whole name in place of a slug, and refuses a text that names no server, visible only to the invoker', async () => {
    expect(embedOf(await show('łódź arena')).title).toBe('Łódź Arena');
    const refused = await show('**nope** @here', anActor({ locale: 'pl' }));
    expect(isEphemeral(refused.message)).toBe(true);
    expect(textOf(refused)).toBe(pl.refusals.serverNotFound('\\*\\*nope\\*\\* \\@here'));
  });
});

describe('buttons of the card', () => {
  test('leads to its page and to our own address for playing, as Discord takes no steam://', async () => {
    const { message } = await show('mirage-24-7');
    const url = `${PUBLIC_URL}/connect/mirage-24-7`;
    expect(findButton(message, en.buttons.connect)).toMatchObject({ style: 5, url });
    expect(findButton(message, en.buttons.site)?.url).toBe(`${PUBLIC_URL}/servers/mirage-24-7`);
    const list = await fake.command('server');
    expect(findButton(list.message, en.buttons.site)?.url).toBe(`${PUBLIC_URL}/`);
  });

  test('Refresh shows the newest poll in the same message, for anyone, also after a restart', async () => {
    const { message } = await show('retake');
    const players = [{ name: 'Ewa', score: 7 }];
    await poll(retake.id, { map: 'de_nuke', playersCount: 2, maxPlayers: 10, players });
    const exchange = await fake.click(message, en.buttons.refresh, anActor());
    expect(exchange.callback).toBe(7);
    const { fields } = embedOf(exchange);
    expect(fields?.[0]).toMatchObject({ value: 'de\\_nuke' });
    expect(fields?.at(-2)).toMatchObject({
      name: en.server.playerCount(2),
      value: `\`   7\` Ewa\n${en.server.more(1)}`,
    });
  });

  test('Players shows everybody to the one who pressed, in pages', async () => {
    const many = Array.from({ length: 40 }, (_, number) => ({ name: `N${number}`, score: 40 - number }));
    await poll(retake.id, { playersCount: 40, maxPlayers: 64, players: many });
    const { message } = await show('retake');
    const actor = anActor({ locale: 'pl' });
    const first = await fake.click(message, en.buttons.players, actor);
    expect(isEphemeral(first.message)).toBe(true);
    expect(embedOf(first).title).toBe(pl.server.playersOf('Retake'));
    expect(textOf(first)).toContain('`  40` N0\n');
    expect(textOf(first)).not.toContain('N32');
    expect(findButton(first.message, pl.buttons.previous)?.disabled).toBe(true);
    const second = await fake.click(first.message, pl.buttons.next, actor);
    expect(second.callback).toBe(7);
    expect(textOf(second)).toContain('N39');
    expect(findButton(second.message, pl.buttons.next)?.disabled).toBe(true);
  });

  test('Players shows each of them on some page, whatever their names', async () => {
    const names = Array.from({ length: 64 }, (_, number) => `P${number}${'_'.repeat(60)}`);
    const players = names.map((name) => ({ name, score: -2_147_483_648 }));
    await poll(retake.id, { playersCount: 64, maxPlayers: 64, players });
    const actor = anActor();
    const first = await fake.click((await show('retake')).message, en.buttons.players, actor);
    let shown = textOf(first);
    shown += textOf(await fake.click(first.message, en.buttons.next, actor));
    const listed = [...shown.matchAll(/` (P\d+)\\_/g)].map(([, name]) => name);
    expect(listed).toEqual(Array.from({ length: 64 }, (_, number) => `P${number}`));
  });

  test('a forged or outdated custom_id is refused', async () => {
    const message = messageOf(await show('mirage-24-7'));
    for (const id of [
      'server.refresh:999999:1',
      'server.refresh:x',
      'server.refresh:',
      'nothing:1',
      '__proto__',
      'constructor',
      '',
    ]) {
      const exchange = await fake.press(message, id, anActor());
      expect(exchange.callback).toBe(4);
      expect(isEphemeral(exchange.message)).toBe(true);
      expect(exchange.message?.embeds).toHaveLength(1);
    }
  });
});

test('tells people who wait for a place since when the server has been full, also after a restart', async () => {
  const { id } = await insertServer(db, { slug: 'full', name: 'Full one' });
  const start = Date.parse('2026-11-21T10:00:00Z');
  const state = { playersCount: 10, maxPlayers: 10 };
  const read = async (actor = anActor()) => textOf(await show('full', actor));
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
  await harness.restart();
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
});
