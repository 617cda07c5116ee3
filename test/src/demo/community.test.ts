import { afterAll, expect, test } from 'bun:test';
import { eq, type SQL, sql } from 'drizzle-orm';
import { users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { serverSamples, servers } from '../../../src/db/schema/servers.ts';
import { fillHistory, saveDemoAddresses, seedCommunity } from '../../../src/demo/community.ts';
import { startDemoGames } from '../../../src/demo/games.ts';
import { DEMO_SERVERS } from '../../../src/demo/servers.ts';
import { PENALTY_STATUSES, PENALTY_TYPES } from '../../../src/domain/penalty.ts';
import { queryGameServer } from '../../../src/poll/game-server.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const now = new Date('2026-11-21T18:00:00Z');
const NOW = sql`${now.toISOString()}::timestamptz`;
const count = (condition?: SQL) =>
  condition ? sql<number>`count(*) filter (where ${condition})::int` : sql<number>`count(*)::int`;

const { db } = await createTestDatabase();
expect(await seedCommunity(db, now)).toBe(true);
await fillHistory(db, now);

test('the demo has penalties of every type, status and age, some of which end soon', async () => {
  const groups = await db
    .select({ type: penalties.type, status: penalties.status })
    .from(penalties)
    .groupBy(penalties.type, penalties.status);
  expect(groups).toHaveLength(PENALTY_TYPES.length * PENALTY_STATUSES.length);
  const { total, counts } = await listPenalties(db, {}, { page: 1, perPage: 1, now });
  expect(total).toBeGreaterThan(4000);
  for (const type of PENALTY_TYPES) expect(counts[type]).toBeGreaterThan(200);
  const [ages] = await db
    .select({
      recent: count(sql`created_at > ${NOW} - interval '1 day'`),
      old: count(sql`created_at < ${NOW} - interval '2 years'`),
      soon: count(sql`status = 'ACTIVE' and ends_at <= ${NOW} + interval '30 minutes'`),
      later: count(sql`created_at > ${NOW}`),
      unlike: count(sql`(duration_minutes = 0) <> (ends_at is null)`),
    })
    .from(penalties);
  // Some 64, by chance between 40 and 90.
  expect(ages?.recent).toBeGreaterThan(25);
  expect(ages?.old).toBeGreaterThan(50);
  expect(ages?.soon).toBeGreaterThanOrEqual(12);
  expect([ages?.later, ages?.unlike]).toEqual([0, 0]);
});

test('writes names and reasons in several scripts', async () => {
  const rows = await db
    .selectDistinct({ name: penalties.playerName, reason: penalties.reason })
    .from(penalties);
  const texts = rows.flatMap(({ name, reason }) => [name, reason]).join(' ');
  const scripts = ['Latin', 'Cyrillic', 'Greek', 'Arabic', 'Hebrew', 'Han', 'Hiragana', 'Hangul', 'Thai'];
  const written = scripts.filter((script) => new RegExp(`\\p{Script=${script}}`, 'u').test(texts));
  expect(written).toEqual(scripts);
  expect(texts).toMatch(/\p{Emoji_Presentation}/u);
});

test('the demo has users with every combination of flags, and with Discord accounts', async () => {
  const rows = await db.select().from(users);
  const combinations = rows.map(({ isAdmin, isOwner, hasSvip, isServiceplus }) =>
    [isAdmin, isOwner, hasSvip, isServiceplus].map(Number).join(''),
  );
  expect(new Set(combinations).size).toBe(16);
  expect(rows.filter(({ discordId }) => discordId !== null).length).toBeGreaterThan(30);
  expect(rows.some(({ discordId }) => discordId === null)).toBe(true);
  // Pictures are the only content that pages load from other sites.
  expect(rows.filter(({ avatarUrl, discordAvatar }) => avatarUrl + discordAvatar !== '')).toEqual([]);
});

test('the demo fills the chart of the last day for every server', async () => {
  const rows = await db
    .select({ slug: servers.slug, count: count(), high: sql<number>`max(players_maximum)::int` })
    .from(serverSamples)
    .innerJoin(servers, eq(servers.id, serverSamples.serverId))
    .where(sql`sampled_at > ${NOW} - interval '1 day'`)
    .groupBy(servers.slug);
  expect(rows).toHaveLength(DEMO_SERVERS.length);
  for (const row of rows) {
    expect(row.count).toBeGreaterThanOrEqual(287);
    expect(row.high).toBeGreaterThan(2);
  }
});

test('the demo is seeded once, and its history continues where it stopped', async () => {
  expect(await seedCommunity(db, new Date(now.getTime() + 60_000))).toBe(false);
  const countSamples = async () => (await db.select({ count: count() }).from(serverSamples))[0]?.count ?? 0;
  const before = await countSamples();
  await fillHistory(db, now);
  expect(await countSamples()).toBe(before);
  await fillHistory(db, new Date(now.getTime() + 3_600_000));
  expect(await countSamples()).toBe(before + 12 * DEMO_SERVERS.length);
});

test('takes new addresses, even one that another server had', async () => {
  const slugs = DEMO_SERVERS.map(({ slug }) => slug);
  const addressOf = (shift: number) =>
    new Map(slugs.map((slug, number) => [slug, `127.0.0.1:${30_000 + ((number + shift) % slugs.length)}`]));
  await saveDemoAddresses(db, addressOf(0));
  await saveDemoAddresses(db, addressOf(1));
  const rows = await db.select({ slug: servers.slug, address: servers.address }).from(servers);
  expect(new Map(rows.map(({ slug, address }) => [slug, address]))).toEqual(addressOf(1));
});

const games = await startDemoGames(now);
afterAll(games.stop);
const advanceTo = (second: number) => games.advance(new Date(now.getTime() + second * 1000));
const ask = (slug: string) => queryGameServer(games.addresses.get(slug) ?? '', { timeoutMs: 600 });
/** What a game tells. */
async function readState(slug: string) {
  const outcome = await ask(slug);
  if (!outcome.hasResponded) throw new Error(outcome.reason);
  return outcome.state;
}

test('the demo has at least six games, which change over time', async () => {
  expect(games.addresses.size).toBeGreaterThanOrEqual(6);
  const before = await readState('jailbreak');
  expect(before.playersCount).toBeGreaterThan(5);
  for (let second = 0; second < 60; second++) advanceTo(second);
  const after = await readState('jailbreak');
  const names = ({ players }: typeof after) => players.map(({ name }) => name).toSorted();
  expect(names(after)).not.toEqual(names(before));
  const points = ({ players }: typeof after) => players.reduce((sum, { score }) => sum + score, 0);
  expect(points(after)).not.toBe(points(before));
  const maps = new Set<string>();
  // A map lasts a minute at the least, and three at the most.
  for (let second = 60; second < 260; second++) {
    advanceTo(second);
    if (second % 20 !== 19) continue;
    const outcome = await ask('retake');
    if (outcome.hasResponded) maps.add(outcome.state.map);
  }
  expect(maps.size).toBeGreaterThan(1);
});

test("one of the demo's servers goes down and comes back", async () => {
  for (const [second, hasResponded] of [
    [100, false],
    [160, true],
    [340, false],
  ] as const) {
    advanceTo(second);
    expect(await ask('surf')).toMatchObject({ hasResponded });
  }
});

test('a stock server tells how many play and not who', async () => {
  const { playersCount, players } = await readState('community-5v5');
  expect(playersCount).toBeGreaterThan(1);
  expect(players).toEqual([]);
});
