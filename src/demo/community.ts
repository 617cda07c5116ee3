import { eq, inArray, max, sql } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import { users } from '../db/schema/accounts.ts';
import { penalties } from '../db/schema/penalties.ts';
import { serverMapPeriods, serverSamples, servers } from '../db/schema/servers.ts';
import { settings } from '../db/schema/settings.ts';
import { createPenalties } from './penalties.ts';
import { createPeople, type Person } from './people.ts';
import { createRandom } from './random.ts';
import { countDemoPlayers, DEMO_SERVERS, type DemoServer } from './servers.ts';

export const DEMO_SEED = 20_261_121;
const PEOPLE = 600;
const PENALTIES = 4800;
const HISTORY_DAYS = 14;
const SAMPLE_MS = 300_000;
const MAP_MS = 2_700_000;
/** Rows per statement; PostgreSQL allows 65,535 parameters. */
const CHUNK = 1000;
const MARKER = 'demo.community';

/** All people of the demo, always the same. */
export function listDemoPeople(): Person[] {
  return createPeople(PEOPLE, DEMO_SEED);
}

/**
 * Creates the demo's servers, users and penalties once, in one transaction; a second call changes nothing.
 * @param now the time that ages and active penalties are relative to.
 * @returns whether they were created now.
 */
export async function seedCommunity(db: Db, now: Date): Promise<boolean> {
  return db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(${LOCKS.demoCommunity})`);
    const [marker] = await tx.select().from(settings).where(eq(settings.key, MARKER));
    if (marker) return false;
    const rows = await tx
      .insert(servers)
      .values(
        DEMO_SERVERS.map(({ slug, name, mode, region }) => ({
          slug,
          name,
          mode,
          region,
          address: placeholderAddress(slug),
        })),
      )
      .returning({ id: servers.id });
    const people = listDemoPeople();
    await tx.insert(users).values(createUsers(people, now, DEMO_SEED));
    const serverIds = rows.map(({ id }) => id);
    for (const chunk of inChunks(
      createPenalties(people, { count: PENALTIES, serverIds, now, seed: DEMO_SEED }),
    )) {
      await tx.insert(penalties).values(chunk);
    }
    await tx.insert(settings).values({ key: MARKER, value: String(DEMO_SEED) });
    return true;
  });
}

/**
 * Fills in the servers' player counts and maps up to now: two weeks at the first start, later the time that the demo was
 * off. Samples of real polls are kept.
 */
export async function fillHistory(db: Db, now: Date): Promise<void> {
  const until = Math.floor(now.getTime() / SAMPLE_MS) * SAMPLE_MS;
  const states = await db
    .select({ id: servers.id, slug: servers.slug, lastAt: max(serverSamples.sampledAt) })
    .from(servers)
    .leftJoin(serverSamples, eq(serverSamples.serverId, servers.id))
    .groupBy(servers.id, servers.slug);
  for (const { id, slug, lastAt } of states) {
    const server = DEMO_SERVERS.find((demo) => demo.slug === slug);
    if (!server) continue;
    const earliest = until - HISTORY_DAYS * 86_400_000;
    const from = Math.max(earliest, lastAt ? Math.floor(lastAt.getTime() / SAMPLE_MS + 1) * SAMPLE_MS : 0);
    const rows: (typeof serverSamples.$inferInsert)[] = [];
    for (let at = from; at < until; at += SAMPLE_MS) {
      const counts = [0, 100_000, 200_000].map((offset) => countDemoPlayers(server, new Date(at + offset)));
      rows.push({
        serverId: id,
        sampledAt: new Date(at),
        periodSeconds: SAMPLE_MS / 1000,
        playersAverage: counts.reduce((sum, count) => sum + count, 0) / counts.length,
        playersMaximum: Math.max(...counts),
        maxPlayers: server.maxPlayers,
        onlineShare: 1,
      });
    }
    for (const chunk of inChunks(rows)) await db.insert(serverSamples).values(chunk).onConflictDoNothing();
    const maps = listDemoMaps(server, { from, until }).map((period) => ({ ...period, serverId: id }));
    for (const chunk of inChunks(maps)) await db.insert(serverMapPeriods).values(chunk).onConflictDoNothing();
  }
}

/** The periods in which a server played its maps. */
function listDemoMaps({ maps }: DemoServer, { from, until }: { from: number; until: number }) {
  const starts: number[] = [];
  for (let at = from; at < until; at += MAP_MS) starts.push(at);
  return starts.map((at) => ({
    map: maps[Math.floor(at / MAP_MS) % maps.length] ?? '',
    startedAt: new Date(at),
    endedAt: new Date(Math.min(at + MAP_MS, until)),
  }));
}

/** Saves the addresses of the simulated game servers. @param addresses by slug. */
export async function saveDemoAddresses(db: Db, addresses: ReadonlyMap<string, string>): Promise<void> {
  await db.transaction(async (tx) => {
    const slugs = [...addresses.keys()];
    // Placeholders first, since addresses are unique: a server may get the port that another one had.
    await tx
      .update(servers)
      .set({ address: sql`'demo-' || ${servers.slug} || '.invalid:1'` })
      .where(inArray(servers.slug, slugs));
    for (const [slug, address] of addresses) {
      await tx.update(servers).set({ address }).where(eq(servers.slug, slug));
    }
  });
}

function placeholderAddress(slug: string): string {
  return `demo-${slug}.invalid:1`;
}

function* inChunks<T>(rows: readonly T[]): Generator<T[]> {
  for (let start = 0; start < rows.length; start += CHUNK) yield rows.slice(start, start + CHUNK);
}

type NewUser = typeof users.$inferInsert;

/** The number of people who are users. The first sixteen have every combination of the four flags. */
const DEMO_USERS = 60;
const FLAGGED = 16;
/** By their position; beyond those with every combination of the other flags. */
export const MODERATOR = 17;
/** Discord ids of the future, which no real account has. */
const FIRST_DISCORD_ID = 1_999_000_000_000_000_000n;

/**
 * Users with Discord accounts (some without), and every combination of flags. None has a picture: their browsers would ask
 * Discord for made-up ones.
 * Number 15 is owner, admin, SVIP and service plus.
 */
function createUsers(people: readonly Person[], now: Date, seed: number): NewUser[] {
  const random = createRandom(seed + 1);
  return people.slice(0, DEMO_USERS).map((person, number) => {
    const flags = number < FLAGGED ? number : random.chance(0.2) ? 0b0100 : 0;
    const hasDiscord = number < FLAGGED || random.chance(0.75);
    const createdAt = new Date(
      now.getTime() - random.between(1, 1000) * 86_400_000 - random.below(86_400_000),
    );
    return {
      steamId64: person.steamId64,
      nickname: person.name,
      isAdmin: (flags & 0b0001) !== 0,
      isOwner: (flags & 0b0010) !== 0,
      isModerator: number === MODERATOR,
      hasSvip: (flags & 0b0100) !== 0,
      isServiceplus: (flags & 0b1000) !== 0,
      createdAt,
      signedInAt: createdAt,
      ...(hasDiscord && discordOf(person, number)),
    };
  });
}

function discordOf(person: Person, number: number) {
  const plain = person.name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_.]/g, '')
    .toLowerCase();
  return {
    discordId: String(FIRST_DISCORD_ID + BigInt(number) * 7_310_585_129n),
    discordUsername: plain.length >= 2 ? plain.slice(0, 32) : `gracz${1000 + number}`,
  };
}
