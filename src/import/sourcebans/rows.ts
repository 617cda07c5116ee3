import { InvalidInput } from '../../domain/errors.ts';
import type { PenaltyType } from '../../domain/penalty.ts';
import { UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import type { ImportedPenalty } from '../../queries/penalties/imported.ts';
import { ACTIVE, EXPIRED, type PenaltyState } from '../checked-penalty.ts';
import { BAN_BY_ADDRESS } from '../import-report.ts';
import type { ItemReport } from '../import-run.ts';
import { findServerId, type ServerIds } from '../servers.ts';
import { cleanText, MAX_NAME_LENGTH, MAX_REASON_LENGTH } from '../source/clean-text.ts';
import type { SourceRow } from '../source/source-database.ts';
import {
  computeCreationMs,
  parseDurationMinutes,
  parsePlayerSteamId,
  parseUnixSeconds,
  toJoinedAdmin,
} from '../source/values.ts';
import { parseRemoval } from './removal.ts';

/** A communication ban "for this session" gets this duration, since the end of a session is not recorded. */
const SESSION_MINUTES = 120;
/** The name of admin 0, whose row some databases lack. */
const CONSOLE = 'CONSOLE';

export type SourcebansRowOptions = { serverIds: ServerIds };

/**
 * Converts one row, or the two halves of a silence, into a penalty.
 * @throws {InvalidInput} for a row that cannot be imported.
 */
export function parseSourcebansRow(
  table: 'bans' | 'comms',
  rows: readonly SourceRow[],
  { serverIds, warn, assume }: SourcebansRowOptions & ItemReport,
): ImportedPenalty {
  const [row] = rows;
  if (!row) throw new InvalidInput('it is empty');
  const isSession = table === 'comms' && row.length === '-1';
  const durationMinutes = isSession ? SESSION_MINUTES : parseDurationMinutes(row.length, 'seconds');
  const ends = isSession || durationMinutes === 0 ? undefined : parseUnixSeconds(row.ends);
  const length = { endsMs: ends?.getTime(), durationMs: Number(row.length) * 1000 };
  const createdAt = parseUnixSeconds(row.created) ?? new Date(computeCreationMs(length, warn));
  const endsAt =
    durationMinutes === 0 ? null : (ends ?? new Date(createdAt.getTime() + durationMinutes * 60_000));
  const admin = toJoinedAdmin(row.admin_name, row.admin_authid, row.aid === '0' && CONSOLE);
  const { assumption } = parseRemoval(row);
  if (assumption) assume(assumption);
  const playerSteamId = parsePlayerSteamId(row.authid);
  if (table === 'bans' && row.type === '1' && playerSteamId !== UNKNOWN_STEAM_ID) assume(BAN_BY_ADDRESS);
  return {
    sourceTable: table,
    sourceId: row.bid ?? '',
    type: table === 'bans' ? 'ban' : rows.length === 2 ? 'silence' : parseCommsType(row.type),
    playerName: cleanText(row.name, MAX_NAME_LENGTH),
    playerSteamId,
    adminName: admin.name ?? '',
    adminSteamId: admin.steamId,
    reason: cleanText(row.reason, MAX_REASON_LENGTH),
    durationMinutes,
    serverId: findServerId(serverIds, row.sid, warn),
    createdAt,
    endsAt,
    ...parseSourcebansState(row),
  };
}

function parseCommsType(type: string | null | undefined): PenaltyType {
  if (type === '1') return 'mute';
  if (type === '2') return 'gag';
  // Only the fork SB-MaterialAdmin has it.
  if (type === '3') return 'silence';
  throw new InvalidInput(
    `the type ${JSON.stringify(type ?? null)} is not known: 1 is a mute, 2 a gag, 3 a silence`,
  );
}

/** Reads whether a row is in force, over or lifted. @throws {InvalidInput} for a RemoveType that is not known. */
export function parseSourcebansState(row: SourceRow): PenaltyState {
  const { status } = parseRemoval(row);
  if (status !== 'UNBANNED') return status === 'ACTIVE' ? ACTIVE : EXPIRED;
  const lifter = toJoinedAdmin(row.lifter_name, row.lifter_authid, row.removedby === '0' && CONSOLE);
  return {
    status,
    liftedAt: parseUnixSeconds(row.removedon) ?? null,
    liftedByName: lifter.name || null,
    liftedBySteamId: lifter.steamId,
    liftReason: cleanText(row.ureason, MAX_REASON_LENGTH) || null,
  };
}
