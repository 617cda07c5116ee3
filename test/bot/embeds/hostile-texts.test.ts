import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { embedOf, textOf } from '../../support/discord/exchange.ts';
import { componentsOf } from '../../support/discord/messages.ts';
import { INVISIBLE_NAMES } from '../../support/invisible-names.ts';

const { en, pl } = BOT_TEXTS;

/** Characters whose escaping doubles the length, and characters that people put into names. */
const HOSTILE = [
  '*'.repeat(1000),
  '`_~|>#[]<@'.repeat(100),
  '😀'.repeat(500),
  `\u202e${'ﷺ'.repeat(500)}`,
  'https://x.y '.repeat(80),
];

const { fake, db, poll, refreshServers, connect } = await startTestBot();
await connect();

test.each(HOSTILE)('no text makes a message that Discord refuses: %#', async (text) => {
  for (const table of [penalties, users, servers]) await db.delete(table);
  const moderator = anActor({ isModerator: true, locale: 'pl', guildLocale: 'pl' });
  const { id } = await insertServer(db, { slug: 'x', name: text.slice(0, 128), mode: text, region: text });
  const discord = { discordId: moderator.user.id, discordUsername: text };
  await insertUser(db, 1, { nickname: text, ...discord, avatarUrl: text });
  const row = { playerName: text, adminName: text, reason: text, serverId: id };
  const lifted = { status: 'UNBANNED' as const, liftedAt: new Date(), liftedByName: text, liftReason: text };
  await insertPenalties(db, [...Array.from({ length: 5 }, () => ({ ...row, ...lifted })), row]);
  const players = Array.from({ length: 64 }, () => ({ name: text, score: -123_456 }));
  await poll(id, { hostname: text, map: text, playersCount: 64, maxPlayers: 64, players });
  const card = await fake.command('server', { name: 'x' }, moderator);
  const record = await fake.command('ban-check', { steamid: aSteamId(1) }, moderator);
  const exchanges = [
    card,
    await fake.click(card.message, pl.buttons.players, moderator),
    record,
    await fake.command('server', {}, moderator),
    await fake.command('server', { name: text }, moderator),
    await fake.autocomplete('server', 'name', text, moderator),
    await fake.autocomplete('server', 'name', '', moderator),
    await fake.command('ban-check', { steamid: text }, moderator),
    await fake.command('lookup', { steamid: aSteamId(1) }, moderator),
  ];
  expect(exchanges.flatMap(({ refusals }) => refusals)).toEqual([]);
  expect(exchanges.every(({ callback }) => callback !== undefined)).toBe(true);
  expect(textOf(record).match(/^-# /gm)).toHaveLength(5);
});

test('a server whose name nobody can see is shown by its slug, wherever the bot names it', async () => {
  for (const table of [penalties, users, servers]) await db.delete(table);
  const moderator = anActor({ isModerator: true });
  const slugs = INVISIBLE_NAMES.map((_, index) => `unseen-${index}`);
  for (const [index, name] of INVISIBLE_NAMES.entries()) {
    const { id } = await insertServer(db, { name, slug: `unseen-${index}` });
    const players = ['Ala', name].map((each, score) => ({ name: each, score }));
    if (index % 2 === 0) await poll(id, { players });
    const playerSteamId = aSteamId(100 + index);
    await insertPenalties(db, [
      { playerSteamId, serverId: id, playerName: name, adminName: name, reason: name },
    ]);
    await insertUser(db, 100 + index, { nickname: name });
  }
  await refreshServers();

  const list = await fake.command('server', {}, moderator);
  expect(list.refusals).toEqual([]);
  const [menu] = componentsOf(list.message);
  expect(menu?.options?.map(({ label }) => label).sort()).toEqual(slugs.toSorted());
  for (const slug of slugs) expect(textOf(list)).toContain(`**${slug}**`);
  const { choices } = await fake.autocomplete('server', 'name', 'unseen', moderator);
  expect(choices?.map(({ name }) => name.split(' · ')[0] ?? '').sort()).toEqual(slugs.toSorted());

  for (const [index, slug] of slugs.entries()) {
    const card = await fake.command('server', { name: slug }, moderator);
    expect([slug, embedOf(card).title, card.refusals]).toEqual([slug, slug, []]);
    if (index % 2 === 0) {
      const players = await fake.click(card.message, en.buttons.players, moderator);
      expect(players.refusals).toEqual([]);
    }
    const record = await fake.command('ban-check', { steamid: aSteamId(100 + index) }, moderator);
    expect([record.refusals, embedOf(record).author?.name]).toEqual([[], aSteamId(100 + index)]);
    expect(textOf(record)).toMatch(/\n-# \[#\d+\]\(.*\) · /);
    expect(textOf(record)).toContain(` · ${en.record.unnamedAdmin} · ${slug} · `);
  }
});
