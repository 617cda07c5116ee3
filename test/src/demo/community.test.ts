import { afterAll, describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
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

describe('the demo’s community', async () => {
  const { db } = await createTestDatabase();
  expect(await seedCommunity(db, now)).toBe(true);
  await fillHistory(db, now);

  test('the demo has penalties of every type, status and age, some of which end soon', async () => {
    const groups = await db
      .select({ type: penalties.type, status: penalties.status, count: sql<number>`count(*)::int` })
      .from(penalties)
      .groupBy(penalties.type, penalties.status);
    expect(groups).toHaveLength(PENALTY_TYPES.length * PENALTY_STATUSES.length);
    const { total, counts } = await listPenalties(db, {}, { page: 1, perPage: 1, now });
    expect(total).toBeGreaterThan(4000);
    for (const type of PENALTY_TYPES) expect(counts[type]).toBeGreaterThan(200);
    const [ages] = await db
      .select({
        recent: sql<number>`count(*) filter (where created_at > ${now.toISOString()}::timestamptz - interval '1 day')::int`,
        old: sql<number>`count(*) filter (where created_at < ${now.toISOString()}::timestamptz - interval '2 years')::int`,
        soon: sql<number>`count(*) filter (where status = 'ACTIVE' and ends_at <= ${now.toISOString()}::timestamptz + interval '30 minutes')::int`,
        later: sql<number>`count(*) filter (where created_at > ${now.toISOString()}::timestamptz)::int`,
        unlike: sql<number>`count(*) filter (where (duration_minutes = 0) <> (ends_at is null))::int`,
      })
      .from(penalties);
    expect(ages?.recent).toBeGreaterThan(50);
    expect(ages?.old).toBeGreaterThan(50);
    expect(ages?.soon).toBeGreaterThanOrEqual(12);
    expect([ages?.later, ages?.unlike]).toEqual([0, 0]);
  });

  test('writes names and reasons in several scripts', async () => {
    const rows = await db
      .selectDistinct({ name: penalties.playerName, reason: penalties.reason })
      .from(penalties);
    const texts = rows.flatMap(({ name, reason }) => [name, reason]).join(' ');
    for (const script of [
      'Latin',
      'Cyrillic',
      'Greek',
      'Arabic',
      'Hebrew',
      'Han',
      'Hiragana',
      'Hangul',
      'Thai',
    ]) {
      expect([script, new RegExp(`\\p{Script=${script}}`, 'u').test(texts)]).toEqual([script, true]);
    }
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
      .select({
        slug: servers.slug,
        count: sql<number>`count(*)::int`,
        high: sql<number>`max(players_maximum)::int`,
      })
      .from(serverSamples)
      .innerJoin(servers, eq(servers.id, serverSamples.serverId))
      .where(sql`sampled_at > ${now.toISOString()}::timestamptz - interval '1 day'`)
      .groupBy(servers.slug);
    expect(rows).toHaveLength(DEMO_SERVERS.length);
    for (const { count, high } of rows) {
      expect(count).toBeGreaterThanOrEqual(287);
      expect(high).toBeGreaterThan(2);
    }
  });

  test('the demo is seeded once, and its history continues where it stopped', async () => {
    expect(await seedCommunity(db, new Date(now.getTime() + 60_000))).toBe(false);
    const count = async () => {
      const [row] = await db.select({ count: sql<number>`count(*)::int` }).from(serverSamples);
      return row?.count ?? 0;
    };
    const before = await count();
    await fillHistory(db, now);
    expect(await count()).toBe(before);
    await fillHistory(db, new Date(now.getTime() + 3_600_000));
    expect(await count()).toBe(before + 12 * DEMO_SERVERS.length);
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
});

describe('the demo’s games', async () => {
  const games = await startDemoGames(now);
  afterAll(games.stop);
  const ask = (slug: string) => queryGameServer(games.addresses.get(slug) ?? '', { timeoutMs: 600 });
  const advance = (fromSeconds: number, toSeconds: number) => {
    for (let second = fromSeconds; second < toSeconds; second++)
      games.advance(new Date(now.getTime() + second * 1000));
  };

  test('the demo has at least six games, which change over time', async () => {
    expect(games.addresses.size).toBeGreaterThanOrEqual(6);
    const before = await ask('jailbreak');
    if (!before.hasResponded) throw new Error(before.reason);
    expect(before.state.playersCount).toBeGreaterThan(5);
    advance(0, 60);
    const after = await ask('jailbreak');
    if (!after.hasResponded) throw new Error(after.reason);
    const names = ({ players }: typeof after.state) => players.map(({ name }) => name).toSorted();
    expect(names(after.state)).not.toEqual(names(before.state));
    const points = ({ players }: typeof after.state) => players.reduce((sum, { score }) => sum + score, 0);
    expect(points(after.state)).not.toBe(points(before.state));
    const maps = new Set();
    // A map lasts a minute at the least, and three at the most.
    for (let second = 60; second < 260; second += 20) {
      advance(second, second + 20);
      const outcome = await ask('retake');
      if (outcome.hasResponded) maps.add(outcome.state.map);
    }
    expect(maps.size).toBeGreaterThan(1);
  });

  test("one of the demo's servers goes down and comes back", async () => {
    games.advance(new Date(now.getTime() + 100_000));
    expect(await ask('surf')).toMatchObject({ hasResponded: false });
    games.advance(new Date(now.getTime() + 160_000));
    expect(await ask('surf')).toMatchObject({ hasResponded: true });
    games.advance(new Date(now.getTime() + 240_000 + 100_000));
    expect(await ask('surf')).toMatchObject({ hasResponded: false });
  });

  test('a stock server tells how many play and not who', async () => {
    const outcome = await ask('community-5v5');
    if (!outcome.hasResponded) throw new Error(outcome.reason);
    expect(outcome.state.playersCount).toBeGreaterThan(1);
    expect(outcome.state.players).toEqual([]);
  });
});
