import { serverNameOf } from '../../domain/penalty.ts';
import { steamProfileUrl } from '../../domain/profile-address.ts';
import { type FlagSource, USER_FLAGS } from '../../domain/rights/user-flags.ts';
import type { SteamId64 } from '../../domain/steam-id.ts';
import { escapeUnprintable } from '../../domain/text/escape-unprintable.ts';
import type { PlayerRecord } from '../../queries/penalties/player-record.ts';
import type { GivenFlag } from '../../queries/users/user-flags.ts';
import type { ListedUser, User } from '../../queries/users/users.ts';
import { describePenalty, PENALTY_HEADER } from './penalty-words.ts';
import { describeMoment, toTable } from './print.ts';

export const USER_HEADER = ['STEAMID64', 'NAME', 'FLAGS', 'DISCORD', 'TOKENS', 'SINCE', 'LAST SIGN-IN'];

const FLAGS = [
  ['isOwner', 'owner'],
  ['isAdmin', 'admin'],
  ['isModerator', 'moderator'],
  ['hasSvip', 'svip'],
  ['isServiceplus', 'serviceplus'],
] as const;

/** A user as a row of a table. */
export function describeListedUser(user: ListedUser): string[] {
  return [
    user.steamId64,
    user.nickname || '-',
    flagsOf(user),
    user.discordUsername || (user.discordId ?? '-'),
    String(user.liveTokens),
    user.createdAt.toISOString().slice(0, 10),
    user.signedInAt?.toISOString().slice(0, 10) ?? 'never',
  ];
}

/** A user as lines of names and values. */
export function describeUser(user: User & { isBanned: boolean }, given: readonly GivenFlag[]): string {
  const { discordId, discordUsername, hidesDiscord } = user;
  const lines: [string, string][] = [
    ['Name', user.nickname || '-'],
    ['SteamID64', user.steamId64],
    ['Profile', steamProfileUrl(user.steamId64)],
    ['Flags', flagsOf(user)],
    ...given.map((each): [string, string] => ['', describeGivenFlag(each)]),
    [
      'Discord',
      discordId === null
        ? 'not linked'
        : `${discordUsername} (${discordId})${hidesDiscord ? ', hidden from others' : ''}`,
    ],
    ['Banned', user.isBanned ? 'yes' : 'no'],
    ['Blocked', describeBlock(user)],
    ['Since', describeMoment(user.createdAt)],
    ['Last sign-in', user.signedInAt ? describeMoment(user.signedInAt) : 'never'],
  ];
  return toLines(lines);
}

/** The penalties of a player without an account, the newest of them as a table, and the flags they will have with one. */
export function describeRecord(
  steamId64: SteamId64,
  { rows, total, playerName }: PlayerRecord,
  given: readonly GivenFlag[],
): string {
  const head = toLines([
    ['Name', playerName ?? '-'],
    ['SteamID64', steamId64],
    ['Profile', steamProfileUrl(steamId64)],
    ['Last sign-in', 'never: no account'],
    ...given.map((each, index): [string, string] => [
      index === 0 ? 'Flags then' : '',
      describeGivenFlag(each),
    ]),
    ['Penalties', String(total)],
  ]);
  const penalties = rows.map((penalty) => describePenalty(penalty, serverNameOf(penalty)));
  const rest =
    total > rows.length ? `\n… and ${total - rows.length} more: penalties list --player ${steamId64}` : '';
  return total === 0 ? head : `${head}\n\n${toTable(PENALTY_HEADER, penalties, '')}${rest}`;
}

function toLines(lines: [string, string][]): string {
  return lines.map(([name, value]) => `${name.padEnd(14)}${escapeUnprintable(value)}`).join('\n');
}

/** Where a flag comes from: `admin: simpleadmin, until 2026-12-05 10:00 UTC`. */
export function describeGivenFlag({ flag, source, endsAt }: GivenFlag): string {
  const name = FLAGS.find(([column]) => column === USER_FLAGS[flag])?.[1] ?? flag;
  return `${name}: ${SOURCES[source] ?? source}${endsAt ? `, until ${describeMoment(endsAt)}` : ''}`;
}

const SOURCES: Partial<Record<FlagSource, string>> = {
  hand: 'by hand',
  configuration: 'OWNER_STEAMIDS or MODERATOR_STEAMIDS',
};

function describeBlock({ blockedAt, blockReason }: User): string {
  if (!blockedAt) return 'no';
  const since = `since ${describeMoment(blockedAt)}`;
  return blockReason ? `${since}: ${blockReason}` : since;
}

function flagsOf(user: User): string {
  const names = FLAGS.filter(([flag]) => user[flag]).map(([, name]) => name);
  return names.length === 0 ? '-' : names.join(', ');
}
