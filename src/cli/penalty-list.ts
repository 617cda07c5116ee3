import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import {
  countsOnlineTime,
  isByConsole,
  isPenaltyTime,
  PENALTY_STATUSES,
  PENALTY_TYPES,
  parsePenaltyStatus,
  parsePenaltyTypes,
  serverNameOf,
} from '../domain/penalty.ts';
import { durationInWords } from '../domain/text/duration.ts';
import { tryParseTime } from '../domain/text/timestamp.ts';
import { listPenalties } from '../queries/penalties/list.ts';
import type { Penalty } from '../queries/penalties/row.ts';
import { listServers, requireServer } from '../queries/servers/servers.ts';
import type { Context } from './context.ts';
import { type Columns, describeMoment, toTable } from './table.ts';
import { TIME_SPAN_RULE, tryParseTimeSpan } from './time-span.ts';
import { findPlayer } from './who.ts';

const PENALTIES_LISTED = 100;

type ListOptions = {
  player?: string;
  admin?: string;
  server?: string;
  type?: string;
  status?: string;
  since?: string;
};

/** `penalties list`. */
export function addPenaltyListCommand(penalties: Command, context: Context): void {
  penalties
    .command('list')
    .description(`the newest ${PENALTIES_LISTED} penalties that match every option`)
    .option(
      '--player <id>',
      "the player's SteamID, profile address, account id, Discord id or @name, or name",
    )
    .option('--admin <id>', 'the same of the admin who issued it')
    .option('--server <slug>', 'where it was issued')
    .option('--type <list>', `separated by commas: ${PENALTY_TYPES.join(', ')}`)
    .option('--status <status>', PENALTY_STATUSES.join(', ').toLowerCase())
    .option('--since <time>', 'created since a date, such as 2026-11-01 (UTC), or within a time, such as 7d')
    .action(async (options: ListOptions) => {
      const { player, admin, server, type, status, since } = options;
      const now = new Date();
      const filter = {
        playerSteamId: player === undefined ? undefined : await findPlayer(context, player),
        adminSteamId: admin === undefined ? undefined : await findPlayer(context, admin),
        types: type === undefined ? undefined : parsePenaltyTypes(type, '--type'),
        status: status === undefined ? undefined : parsePenaltyStatus(status),
        createdFrom: since === undefined ? undefined : parseSince(since, now),
      };
      const { db } = await context.database();
      const serverId = server === undefined ? undefined : (await requireServer(db, server)).id;
      const page = { page: 1, perPage: PENALTIES_LISTED, now };
      const { rows, total } = await listPenalties(db, { ...filter, serverId }, page);
      const names = new Map((await listServers(db)).map(({ id, slug }) => [id, slug]));
      const table = toPenaltyTable(
        rows.map((penalty) => ({ ...penalty, serverName: names.get(penalty.serverId) })),
      );
      const rest = total - rows.length;
      context.print(rows, rest > 0 ? `${table}\n… and ${rest} older` : table);
    });
}

function parseSince(text: string, now: Date): Date {
  const spanMs = tryParseTimeSpan(text);
  if (spanMs !== undefined) return new Date(now.getTime() - spanMs);
  const at = tryParseTime(text)?.time;
  if (at && isPenaltyTime(at)) return at;
  throw new InvalidInput(
    `--since ${JSON.stringify(text)} isn't valid: use a date such as 2026-11-01, or ${TIME_SPAN_RULE}`,
  );
}

type ListedPenalty = Penalty & Parameters<typeof serverNameOf>[0];

const COLUMNS: Columns<ListedPenalty> = {
  ID: ({ id }) => id,
  TYPE: ({ type }) => type,
  STATUS: ({ status }) => status.toLowerCase(),
  PLAYER: ({ playerName }) => playerName || '-',
  STEAMID64: ({ playerSteamId }) => playerSteamId,
  DURATION: describeDuration,
  CREATED: ({ createdAt }) => describeMoment(createdAt),
  ADMIN: (penalty) => (isByConsole(penalty) ? 'Console' : penalty.adminName || penalty.adminSteamId),
  SERVER: (penalty) => serverNameOf(penalty) ?? 'no server',
  REASON: ({ reason }) => reason || '-',
};

/** Penalties as a table. */
export function toPenaltyTable(penalties: readonly ListedPenalty[]): string {
  return toTable(penalties, COLUMNS, 'No penalties.');
}

function describeDuration(penalty: ListedPenalty): string {
  const { durationMinutes } = penalty;
  const duration = durationMinutes === 0 ? 'permanent' : durationInWords('en', durationMinutes);
  return countsOnlineTime(penalty) ? `${duration} online` : duration;
}
