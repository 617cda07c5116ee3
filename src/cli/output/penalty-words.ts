import { countsOnlineTime, isByConsole } from '../../domain/penalty.ts';
import { durationInWords } from '../../domain/text/duration.ts';
import type { Penalty } from '../../queries/penalties/row.ts';
import { describeMoment } from './print.ts';

export const PENALTY_HEADER = [
  'ID',
  'TYPE',
  'STATUS',
  'PLAYER',
  'STEAMID64',
  'DURATION',
  'CREATED',
  'ADMIN',
  'SERVER',
  'REASON',
];

/** A penalty as a row of a table. @param serverName undefined: all servers. */
export function describePenalty(penalty: Penalty, serverName: string | undefined): string[] {
  const { durationMinutes } = penalty;
  const duration = durationMinutes === 0 ? 'permanent' : durationInWords('en', durationMinutes);
  return [
    String(penalty.id),
    penalty.type,
    penalty.status.toLowerCase(),
    penalty.playerName || '-',
    penalty.playerSteamId,
    countsOnlineTime(penalty) ? `${duration} online` : duration,
    describeMoment(penalty.createdAt),
    isByConsole(penalty) ? 'Console' : penalty.adminName || penalty.adminSteamId,
    serverName ?? 'all',
    penalty.reason || '-',
  ];
}
