import { and, eq, gt, inArray, isNull, max, or, sql } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import { users } from '../db/schema/accounts.ts';
import { penalties } from '../db/schema/penalties.ts';
import { serverMapPeriods, serverSamples, servers } from '../db/schema/servers.ts';
import { settings } from '../db/schema/settings.ts';
import type { StaffAction } from '../domain/appeal.ts';
import { DAY_MS, HOUR_MS } from '../domain/time.ts';
import { actOnAppeal, openAppeal } from '../queries/appeals/appeals.ts';
import { createPenalties } from './penalties.ts';
import { FLAGGED, MEMBER, MODERATOR, personAt } from './people.ts';
import { below } from './random.ts';
import { countDemoPlayers, DEMO_SERVERS } from './servers.ts';

const HISTORY_DAYS = 14;
const SAMPLE_MS = 300_000;
const MAP_MS = 2_700_000;

const MARKER = 'demo.community';

/**
 * Creates the demo's servers, users, penalties and appeals once, in one transaction; a second call changes nothing.
 * @param now the time that ages and active penalties are relative to.
 * @returns whether they were created now.
 */
export async function seedCommunity(db: Db, now: Date): Promise<boolean> {
  return inTransaction(db, async (tx) => {
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
          address: `demo-${slug}.invalid:1`,
        })),
      )
      .returning({ id: servers.id });
    await tx.insert(users).values(createUsers(now));
    const serverIds = rows.map(({ id }) => id);
    await tx.insert(penalties).values(createPenalties(serverIds, now));
    await createAppeals(tx, now);
    await tx.insert(settings).values({ key: MARKER, value: now.toISOString() });
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
  for (const { id: serverId, slug, lastAt } of states) {
    const server = DEMO_SERVERS.find((demo) => demo.slug === slug);
    if (!server) continue;
    const { maps, maxPlayers } = server;
    const earliest = until - HISTORY_DAYS * 86_400_000;
    const from = Math.max(earliest, lastAt ? Math.floor(lastAt.getTime() / SAMPLE_MS + 1) * SAMPLE_MS : 0);
    const samples = timesBetween(from, until, SAMPLE_MS).map((sampledAt) => {
      const players = countDemoPlayers(server, sampledAt);
      return {
        serverId,
        sampledAt,
        periodSeconds: SAMPLE_MS / 1000,
        playersAverage: players,
        playersMaximum: players,
        maxPlayers,
        onlineShare: 1,
      };
    });
    if (samples.length === 0) continue;
    await db.insert(serverSamples).values(samples).onConflictDoNothing();
    const periods = timesBetween(from, until, MAP_MS).map((startedAt) => ({
      serverId,
      map: maps[Math.floor(startedAt.getTime() / MAP_MS) % maps.length] ?? '',
      startedAt,
      endedAt: new Date(Math.min(startedAt.getTime() + MAP_MS, until)),
    }));
    await db.insert(serverMapPeriods).values(periods).onConflictDoNothing();
  }
}

/** The times from `from` until before `until`, `step` apart; all in milliseconds. */
function timesBetween(from: number, until: number, step: number): Date[] {
  const count = Math.max(0, Math.ceil((until - from) / step));
  return Array.from({ length: count }, (_, index) => new Date(from + index * step));
}

/** Saves the addresses of the simulated game servers. @param addresses by slug. */
export async function saveDemoAddresses(db: Db, addresses: ReadonlyMap<string, string>): Promise<void> {
  await inTransaction(db, async (tx) => {
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

/** The number of people who are users. */
const DEMO_USERS = 60;
/** Discord ids of the future, which no real account has. */
const FIRST_DISCORD_ID = 1_999_000_000_000_000_000n;

/**
 * Users with every combination of flags (the bits of a user's position), and others without flags. Some have no
 * Discord account. None has a picture: browsers would ask Discord for made-up ones.
 */
function createUsers(now: Date): (typeof users.$inferInsert)[] {
  return Array.from({ length: DEMO_USERS }, (_, position) => {
    const { name, steamId64 } = personAt(position);
    const flags = position < FLAGGED ? position : 0;
    const createdAt = new Date(now.getTime() - (1 + below(1000)) * 86_400_000 - below(86_400_000));
    return {
      steamId64,
      nickname: name,
      isAdmin: (flags & 0b0001) !== 0,
      isOwner: (flags & 0b0010) !== 0,
      isModerator: position === MODERATOR,
      hasSvip: (flags & 0b0100) !== 0,
      isServiceplus: (flags & 0b1000) !== 0,
      createdAt,
      signedInAt: createdAt,
      ...((position < FLAGGED || position % 4 > 0) && {
        discordId: String(FIRST_DISCORD_ID + BigInt(position) * 7_310_585_129n),
        discordUsername: `gracz${1000 + position}`,
      }),
    };
  });
}

/** What players wrote, and what staff did then. */
const APPEALS: {
  text: string;
  openedHoursAgo: number;
  response?: { action: StaffAction; text: string };
}[] = [
  { text: 'I was lagging, not cheating. There is a demo of the round on my profile.', openedHoursAgo: 2 },
  {
    text: 'To mój młodszy brat grał na moim koncie. Proszę o drugą szansę.',
    openedHoursAgo: 20,
    response: { action: 'asked', text: 'Kiedy dokładnie grał i skąd o tym wiesz?' },
  },
  {
    text: 'Everybody shouts on this server, why was only I punished for it?',
    openedHoursAgo: 30,
    response: { action: 'denied', text: 'You had been warned twice that evening.' },
  },
  { text: 'The admin mistook me for another player with nearly the same name.', openedHoursAgo: 26 },
  {
    text: 'I have apologised to everybody on the server, and they want me back.',
    openedHoursAgo: 50,
    response: { action: 'accepted', text: 'They told us the same. Welcome back.' },
  },
  { text: 'Nie miałem wtedy mikrofonu, więc nie mogłem nikogo obrażać.', openedHoursAgo: 9 },
  { text: 'This was two years ago, and I have changed since. Please let me play.', openedHoursAgo: 5 },
];

/** Creates appeals in different states, the first one by the demo's member. */
async function createAppeals(tx: Tx, now: Date): Promise<void> {
  const isLasting = or(isNull(penalties.endsAt), gt(penalties.endsAt, new Date(now.getTime() + DAY_MS)));
  const rows = await tx
    .select({ userId: users.id, steamId64: users.steamId64, penaltyId: penalties.id })
    .from(users)
    .innerJoin(penalties, eq(penalties.playerSteamId, users.steamId64))
    .where(and(eq(penalties.status, 'ACTIVE'), isLasting))
    .orderBy(users.id, penalties.id);
  const targets = [...new Map(rows.map((row) => [row.userId, row])).values()];
  const idOf = (position: number) => personAt(position).steamId64;
  const isOfMember = ({ steamId64 }: (typeof targets)[number]) => steamId64 === idOf(MEMBER);
  const [staff] = await tx
    .select()
    .from(users)
    .where(eq(users.steamId64, idOf(MODERATOR)));
  const others = targets.filter((target) => !isOfMember(target) && target.userId !== staff?.id);
  for (const [index, { userId, penaltyId }] of [...targets.filter(isOfMember), ...others].entries()) {
    const appeal = APPEALS[index];
    if (!appeal || !staff) return;
    const openedAt = new Date(now.getTime() - appeal.openedHoursAgo * HOUR_MS);
    const opening = { penaltyId, userId, wantsMessages: false, againDays: 0, language: 'en' } as const;
    const id = await openAppeal(tx, { ...opening, text: appeal.text, now: openedAt });
    if (appeal.response) await actOnAppeal(tx, id, { ...appeal.response, userId: staff.id, now });
  }
}
