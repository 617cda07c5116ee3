import type { Db, Tx } from '../../../src/db/client.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { type ServerPoll, type ServerState, saveServerPolls } from '../../../src/queries/servers/polls.ts';

/** A valid SteamID64, the same for the same number. */
export function aSteamId(number: number): SteamId64 {
  return String(76561198000000000n + BigInt(number)) as SteamId64;
}

type PenaltyRow = typeof penalties.$inferInsert;

/** A row for `penalties`: a permanent active ban unless told otherwise. */
export function aPenalty(values: Partial<PenaltyRow> = {}): PenaltyRow {
  return {
    type: 'ban',
    status: 'ACTIVE',
    playerName: 'Rzeźnik',
    playerSteamId: aSteamId(1),
    adminName: 'Ala',
    adminSteamId: aSteamId(900),
    reason: 'Wallhack',
    durationMinutes: 0,
    serverId: 1,
    createdAt: new Date('2026-11-01T12:00:00Z'),
    endsAt: null,
    ...values,
  };
}

/** Inserts penalties; returns the rows as stored, in the order given. */
export async function insertPenalties(db: Db | Tx, rows: Partial<PenaltyRow>[]) {
  return db.insert(penalties).values(rows.map(aPenalty)).returning();
}

/** Inserts one penalty; returns the row as stored. */
export async function insertPenalty(db: Db, values: Partial<PenaltyRow> = {}) {
  return only(await insertPenalties(db, [values]));
}

/** What a server reports: nobody plays on it unless told otherwise. */
export function aServerState(values: Partial<ServerState> = {}): ServerState {
  return {
    hostname: 'A host',
    map: 'de_mirage',
    playersCount: 0,
    maxPlayers: 10,
    pingMs: 5,
    players: [],
    ...values,
  };
}

let lastServer = 0;

/** Inserts a server, by default with a new slug and address. */
export async function insertServer(db: Db, values: Partial<typeof servers.$inferInsert> = {}) {
  lastServer += 1;
  const rows = await db
    .insert(servers)
    .values({
      slug: `server-${lastServer}`,
      name: `Server ${lastServer}`,
      address: `127.0.0.1:${20_000 + lastServer}`,
      mode: 'Competitive',
      region: 'EU',
      ...values,
    })
    .returning();
  return only(rows);
}

/** Writes one poll of one server; without a state it was missed. */
export async function saveServerPoll(
  db: Db,
  serverId: number,
  { state, polledAt }: Pick<ServerPoll, 'state' | 'polledAt'>,
): Promise<void> {
  await saveServerPolls(db, [{ serverId, state, polledAt }]);
}

/** Inserts a user; the SteamID is {@link aSteamId} of `number`. */
export async function insertUser(db: Db, number: number, values: Partial<typeof users.$inferInsert> = {}) {
  const rows = await db
    .insert(users)
    .values({ steamId64: aSteamId(number), nickname: `Player ${number}`, ...values })
    .returning();
  return only(rows);
}

function only<T>([row]: T[]): T {
  if (!row) throw new Error('nothing was inserted');
  return row;
}

/** Inserts the row of a published round-end sound, without its file. */
export async function insertReadySound(
  db: Db | Tx,
  steamId64: SteamId64,
  title = 'my track.wav',
  values: Partial<typeof roundSounds.$inferInsert> = {},
) {
  await db.insert(roundSounds).values({
    steamId64,
    title,
    status: 'ready',
    uploadKey: `0190c2a5-7a51-7c52-a6a1-${steamId64.slice(-12)}`,
    readyAt: new Date(),
    sha256: 'a1'.repeat(32),
    sizeBytes: 101_234,
    durationMs: 4200,
    loudnessAfterLufs: -18,
    ...values,
  });
}

/** Erases a person who has no sound; their penalties stay unless told otherwise. */
export async function erase(
  db: Db,
  steamId64: SteamId64,
  {
    withPenalties = false,
    actor = 'operator',
  }: { withPenalties?: boolean; actor?: 'operator' | 'member' } = {},
): Promise<void> {
  await erasePerson(db, steamId64, { withPenalties, actor, removeSounds: async () => {} });
}
