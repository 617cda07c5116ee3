import { InvalidInput } from '../../domain/errors.ts';
import {
  PENALTY_TYPES,
  type PenaltyType,
  parsePenaltyStatus,
  parsePenaltyType,
} from '../../domain/penalty.ts';
import { type SteamId64, UNKNOWN_STEAM_ID } from '../../domain/steam-id.ts';
import { tryParseTime } from '../../domain/text/timestamp.ts';
import type { ImportedPenalty, SourceKey } from '../../queries/penalties/imported.ts';
import { NOT_LIFTED, type PenaltyState, type Warn } from '../import-run.ts';
import { cleanText, MAX_NAME_LENGTH, MAX_REASON_LENGTH } from '../source/clean-text.ts';
import {
  computeCreationMs,
  minutesBetween,
  parseDurationMinutes,
  parsePlayerSteamId,
  toAdminSteamId,
  tryParse,
} from '../source/values.ts';

/** The `sourceTable` of lines without `source_id`, which are identified by their content; for others it is their type. */
const BY_CONTENT = 'content';
/** In code points. */
const MAX_SOURCE_ID_LENGTH = 256;

/**
 * Parses one line: the fields of the specification's section 2.3 with `penalty_type`, plus optional `source_id` and
 * `unbanned_at`, or `lifted` as in our own export. `penalty_type`, `player_steamid` and `created` (or `ends` and `duration`)
 * are required; other fields are ignored.
 *
 * The key of a line is its `penalty_type` and `source_id`. Without a `source_id` it is a digest of the fields of a
 * penalty that never change (`id`, type, player, admin, reason, duration, server, `created`), so that a later file can
 * change its `status`, `ends` or `unbanned_at`.
 * @throws {InvalidInput} that names the field and quotes its value.
 */
export function parseNdjsonLine(text: string, warn: Warn): ImportedPenalty {
  const fields = parseObject(text);
  const type = parseType(fields);
  const createdAt = parseCreation(fields, warn);
  const { durationMinutes, endsAt } = parseDuration(fields, createdAt);
  const penalty = {
    type,
    playerName: cleanText(parseText(fields, 'player_name'), MAX_NAME_LENGTH),
    playerSteamId: parsePlayerSteamId(parseSteamIdText(fields, 'player_steamid')),
    adminName: cleanText(parseText(fields, 'admin_name'), MAX_NAME_LENGTH),
    adminSteamId: parseAdminSteamId(fields),
    reason: cleanText(parseText(fields, 'reason'), MAX_REASON_LENGTH),
    durationMinutes,
    serverId: parseServerId(fields),
    createdAt,
    endsAt,
    ...parseState(fields),
  };
  if (!Object.hasOwn(fields, 'player_steamid')) throw new InvalidInput('player_steamid is missing');
  return { ...penalty, ...(parseSourceId(fields, type) ?? digestContent(fields, penalty)) };
}

type Fields = Record<string, unknown>;

/** @throws {InvalidInput} unless the text is a JSON object. */
export function parseObject(text: string): Fields {
  return toObject(parseJson(text));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new InvalidInput(`it is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function toObject(value: unknown): Fields {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return Object.fromEntries(Object.entries(value));
  throw new InvalidInput('it is not a JSON object');
}

/** A string; undefined for null and an absent field. @throws {InvalidInput} for another type. */
function parseText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw new InvalidInput(`${name} ${quote(value)} is not a string`);
}

/** The text of a SteamID, or the number 0. Other numbers are refused: they lose the last digits of a SteamID64. */
function parseSteamIdText(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  if (value === 0) return '0';
  if (typeof value === 'number')
    throw new InvalidInput(`${name} ${value} is a number, which loses digits: write it as a string`);
  return parseText(fields, name);
}

/** Null when the line does not tell who the admin is. */
function parseAdminSteamId(fields: Fields): SteamId64 | null {
  const text = parseSteamIdText(fields, 'admin_steamid');
  return text === undefined && !fields.admin_name ? null : toAdminSteamId(text);
}

function parseType(fields: Fields): PenaltyType {
  const text = parseText(fields, 'penalty_type');
  if (text === undefined) throw new InvalidInput('penalty_type is missing');
  return parsePenaltyType(text, PENALTY_TYPES, 'penalty_type');
}

function parseServerId(fields: Fields): number {
  const value = toNumber(fields.server_id ?? 0);
  const isId = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 2_147_483_647;
  if (isId) return value;
  throw new InvalidInput(`server_id ${quote(fields.server_id)} is not a whole number from 0 to 2147483647`);
}

/** A number, or a decimal string, as PHP writes it. */
function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^[0-9]{1,15}$/.test(value) ? Number(value) : value;
}

function parseCreation(fields: Fields, warn: Warn): Date {
  const createdAt = fields.created === 0 ? undefined : parseTime(fields, 'created');
  if (createdAt && createdAt.getTime() !== 0) return createdAt;
  const endsAt = parseTime(fields, 'ends');
  if (!endsAt || !fields.duration) throw new InvalidInput('created is missing');
  const durationMs = Number(fields.duration) * 60_000;
  return new Date(computeCreationMs({ endsMs: endsAt.getTime(), durationMs }, warn));
}

/** A duration of 0 is permanent, even with `ends`; without a duration it follows from `ends`. */
function parseDuration(fields: Fields, createdAt: Date): { durationMinutes: number; endsAt: Date | null } {
  const duration = toNumber(fields.duration);
  const ends = parseTime(fields, 'ends');
  if (duration === undefined || duration === null) {
    if (ends && ends < createdAt) throw new InvalidInput(`ends ${quote(fields.ends)} is before created`);
    return ends
      ? { durationMinutes: minutesBetween(createdAt, ends), endsAt: ends }
      : { durationMinutes: 0, endsAt: null };
  }
  const durationMinutes = parseDurationMinutes(String(duration), 'minutes');
  if (durationMinutes === 0) return { durationMinutes, endsAt: null };
  // Our own exports have the end of every penalty that has one.
  if (Object.hasOwn(fields, 'lifted')) return { durationMinutes, endsAt: ends ?? null };
  return { durationMinutes, endsAt: ends ?? new Date(createdAt.getTime() + durationMinutes * 60_000) };
}

function parseState(fields: Fields): PenaltyState {
  const text = parseText(fields, 'status');
  const status = text === undefined || text === '' ? 'ACTIVE' : parsePenaltyStatus(text);
  if (status === 'UNBANNED' && fields.lifted) return { status, ...parseLift(toObject(fields.lifted)) };
  const parseLiftTime = () => parseTime(fields, 'unbanned_at');
  const liftedAt = (status === 'UNBANNED' ? tryParse(parseLiftTime) : parseLiftTime()) ?? null;
  // `unbanned_at` is more reliable than `status`, which exporters forget to update.
  return { ...NOT_LIFTED, status: liftedAt ? 'UNBANNED' : status, liftedAt };
}

/** The `lifted` of our own export. A lifter without a name and a SteamID is unknown. */
function parseLift(fields: Fields): Omit<PenaltyState, 'status'> {
  const name = cleanText(parseText(fields, 'admin_name'), MAX_NAME_LENGTH) || null;
  const steamId = toAdminSteamId(parseSteamIdText(fields, 'admin_steamid'));
  return {
    liftedAt: tryParse(() => parseTime(fields, 'at')) ?? null,
    liftedByName: name,
    liftedBySteamId: name === null && steamId === UNKNOWN_STEAM_ID ? null : steamId,
    liftReason: cleanText(parseText(fields, 'reason'), MAX_REASON_LENGTH) || null,
  };
}

/**
 * An ISO 8601 time; without a zone it is UTC, not the zone of the machine. The zero date of MySQL is none.
 * @throws {InvalidInput}
 */
function parseTime(fields: Fields, name: string): Date | undefined {
  const text = parseText(fields, name)?.trim();
  if (text === undefined || text === '' || text.startsWith('0000-00-00')) return undefined;
  const time = tryParseTime(text)?.time;
  if (time && time.getUTCFullYear() >= 1970) return time;
  throw new InvalidInput(`${name} ${quote(text)} is not a time: use 2026-11-21T10:00:00+00:00`);
}

function parseSourceId({ source_id }: Fields, type: PenaltyType): SourceKey | undefined {
  if (source_id === undefined || source_id === null || source_id === '') return undefined;
  if (typeof source_id !== 'string' && !Number.isSafeInteger(source_id)) {
    throw new InvalidInput(`source_id ${quote(source_id)} is neither a string nor a whole number below 2^53`);
  }
  const text = String(source_id);
  const sourceId = cleanText(text, MAX_SOURCE_ID_LENGTH);
  if ([...text].length <= MAX_SOURCE_ID_LENGTH && sourceId !== '') return { sourceTable: type, sourceId };
  throw new InvalidInput(
    `source_id ${quote(source_id)} isn't valid: use 1 to ${MAX_SOURCE_ID_LENGTH} characters`,
  );
}

function digestContent(fields: Fields, penalty: Omit<ImportedPenalty, keyof SourceKey>): SourceKey {
  const content = [
    fields.id ?? null,
    penalty.type,
    penalty.playerSteamId,
    penalty.playerName,
    penalty.adminSteamId ?? UNKNOWN_STEAM_ID,
    penalty.adminName,
    penalty.reason,
    penalty.durationMinutes,
    penalty.serverId,
    penalty.createdAt.toISOString(),
  ];
  const digest = new Bun.CryptoHasher('sha256').update(JSON.stringify(content)).digest('base64url');
  return { sourceTable: BY_CONTENT, sourceId: digest };
}

function quote(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').slice(0, 80);
}
