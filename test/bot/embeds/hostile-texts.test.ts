import { expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../../bot/locales/localization.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { findButton } from '../../support/discord/messages.ts';

const { pl } = BOT_TEXTS;

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
  await insertUser(db, 1, {
    nickname: text,
    discordId: moderator.user.id,
    discordUsername: text,
    avatarUrl: text,
  });
  const row = { playerName: text, adminName: text, reason: text, serverId: id };
  const lifted = { status: 'UNBANNED' as const, liftedAt: new Date(), liftedByName: text, liftReason: text };
  await insertPenalties(db, [...Array.from({ length: 5 }, () => ({ ...row, ...lifted })), row]);
  await poll(id, {
    hostname: text,
    map: text,
    playersCount: 64,
    maxPlayers: 64,
    players: Array.from({ length: 64 }, () => ({ name: text, score: -123_456 })),
  });
  await refreshServers();
  const exchanges = [
    await fake.command('server', {}, moderator),
    await fake.command('server', { name: 'x' }, moderator),
    await fake.command('server', { name: text }, moderator),
    await fake.autocomplete('server', 'name', text, moderator),
    await fake.autocomplete('server', 'name', '', moderator),
    await fake.command('ban-check', { steamid: aSteamId(1) }, moderator),
    await fake.command('ban-check', { steamid: text }, moderator),
    await fake.command('lookup', { steamid: aSteamId(1) }, moderator),
  ];
  const [, card] = exchanges;
  const players = findButton(card?.message, pl.buttons.players)?.custom_id ?? '';
  if (card?.message) exchanges.push(await fake.press(card.message, players, moderator));
  expect(exchanges.flatMap(({ refusals }) => refusals)).toEqual([]);
  expect(exchanges.every(({ callback }) => callback !== undefined)).toBe(true);
  expect(exchanges[5]?.message?.embeds[0]?.description?.match(/^-# /gm)).toHaveLength(5);
});
