import type { Command } from 'commander';
import { isDiscordId } from '../domain/discord-id.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import { USER_FLAG_COLUMNS, USER_FLAGS, type UserFlagColumn } from '../domain/rights/user-flags.ts';
import { type SteamId64, steamProfileUrl } from '../domain/steam-id.ts';
import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import { loadPlayerRecord, type PlayerRecord } from '../queries/penalties/player-record.ts';
import { saveUser, type UserChanges } from '../queries/users/user-changes.ts';
import { type GivenFlag, listGivenFlags } from '../queries/users/user-flags.ts';
import {
  blockUser,
  findUser,
  type ListedUser,
  searchUsers,
  type User,
  unblockUser,
} from '../queries/users/users.ts';
import type { Context } from './context.ts';
import { toPenaltyTable } from './penalty-list.ts';
import { addPersonalDataCommands } from './personal-data.ts';
import { type Columns, describeDay, describeMoment, toTable } from './table.ts';
import { findNamedPeople, findPlayer, loadUser, resolveSteamId, userNotFound } from './who.ts';

type UserOptions = {
  steamid64: string;
  nickname?: string;
  discordId?: string;
  discordUsername?: string;
  discordAvatar?: string;
  hideDiscord?: boolean;
} & { [Option in (typeof FLAGS)[UserFlagColumn]['option']]?: boolean };

const USERS_LISTED = 100;
const PENALTIES_SHOWN = 20;
const MAX_TEXT_LENGTH = 128;
/** The flags by their options, and how help names them. */
const FLAGS = {
  isOwner: { option: 'owner', words: 'the flag owner' },
  isAdmin: { option: 'admin', words: 'the flag admin' },
  isModerator: { option: 'moderator', words: 'the flag moderator' },
  hasSvip: { option: 'svip', words: 'SVIP' },
  isServiceplus: { option: 'serviceplus', words: 'Premium (Service+)' },
} as const satisfies Record<UserFlagColumn, { option: string; words: string }>;

/** `users set | show | list | block | unblock | export | erase`. */
export function addUserCommands(program: Command, context: Context): void {
  const users = program.command('users').description('members of the community');
  const set = users
    .command('set')
    .description('create a user, or change the fields given')
    .requiredOption('--steamid64 <id>', 'SteamID in any notation')
    .option('--nickname <name>', `name on the pages and in responses, at most ${MAX_TEXT_LENGTH} characters`)
    .option('--discord-id <id>', 'link this Discord account; empty to unlink')
    .option('--discord-username <name>', 'name of their Discord account')
    .option('--discord-avatar <hash>', 'avatar of their Discord account, as Discord names it')
    .option('--hide-discord', 'show their Discord account only to admins and moderators')
    .option('--no-hide-discord', 'show it to everybody');
  for (const { option, words } of Object.values(FLAGS)) {
    set
      .option(`--${option}`, `give them ${words}`)
      .option(`--no-${option}`, `take ${words} away from them, if it was given by hand`);
  }
  set.action(async (options: UserOptions) => {
    const steamId = await resolveSteamId(context, options.steamid64);
    const changes = changesOf(options);
    const { db } = await context.database();
    const user = await saveUser(db, steamId, { changes, actor: 'operator' });
    context.print(user, `Saved ${user.steamId64}${user.nickname ? ` (${user.nickname})` : ''}`);
    const remaining = (await listGivenFlags(db, steamId)).filter(
      ({ flag }) => changes[USER_FLAGS[flag]] === false,
    );
    if (remaining.length === 0) return;
    throw new Conflict(`They keep what other sources give: ${remaining.map(describeGivenFlag).join('; ')}`);
  });
  users
    .command('show <id>')
    .description(
      'a user, by SteamID, profile address, account id, Discord id, @name or part of a name; the record and flags of a player without an account',
    )
    .action(async (id: string) => {
      const steamId64 = await findPlayer(context, id);
      const { db } = await context.database();
      const user = await findUser(db, { steamId64 }, new Date());
      if (!user) {
        const options = { page: 1, perPage: PENALTIES_SHOWN, now: new Date() };
        const [record, flags] = await Promise.all([
          loadPlayerRecord(db, steamId64, options),
          listGivenFlags(db, steamId64),
        ]);
        if (record.total === 0 && flags.length === 0) throw userNotFound({ steamId64 });
        context.print({ steamId64, flags, ...record }, describeRecord(steamId64, record, flags));
        return;
      }
      const flags = await listGivenFlags(db, user.steamId64);
      context.print({ ...user, flags }, describeUser(user, flags));
    });
  users
    .command('list [search]')
    .description(`the newest ${USERS_LISTED} users; with a search, by what \`users show\` takes`)
    .action(async (search = '') => {
      const { db } = await context.database();
      const people = await findNamedPeople(context, db, search);
      const query = people.length === 0 ? search : people;
      const page = await searchUsers(db, { query, page: 1, perPage: USERS_LISTED, now: new Date() });
      const rest = page.total - page.users.length;
      const table = toTable(page.users, COLUMNS, 'No users.');
      context.print(page.users, rest > 0 ? `${table}\n… and ${rest} more: search for them` : table);
    });
  users
    .command('block <id>')
    .description('refuse the tokens, sessions, sign-ins and uploads of a user, at once and everywhere')
    .option('--reason <text>', 'what the user is told', '')
    .action(async (id: string, { reason }: { reason: string }) => {
      const { db, user } = await loadUser(context, id);
      await blockUser(db, user.steamId64, { reason, now: new Date(), actor: 'operator' });
      context.print({ blocked: user.steamId64 }, `Blocked ${user.steamId64}`);
    });
  users
    .command('unblock <id>')
    .description('let a blocked user in again; their tokens work again')
    .action(async (id: string) => {
      const { db, user } = await loadUser(context, id);
      await unblockUser(db, user.steamId64, { actor: 'operator' });
      context.print({ unblocked: user.steamId64 }, `Unblocked ${user.steamId64}`);
    });
  addPersonalDataCommands(users, context);
}

function changesOf(options: UserOptions): UserChanges {
  const { nickname, discordId, discordUsername, discordAvatar, hideDiscord } = options;
  if (discordId !== undefined && discordId !== '' && !isDiscordId(discordId)) {
    throw new InvalidInput(
      `--discord-id ${JSON.stringify(discordId)} isn't valid: use a Discord id, or nothing to unlink`,
    );
  }
  const flags: { [Column in UserFlagColumn]?: boolean } = {};
  for (const column of USER_FLAG_COLUMNS) {
    const value = options[FLAGS[column].option];
    if (value !== undefined) flags[column] = value;
  }
  return {
    ...(nickname !== undefined && { nickname: parseText('--nickname', nickname) }),
    ...(discordId !== undefined && { discordId: discordId === '' ? null : discordId }),
    ...(discordUsername !== undefined && {
      discordUsername: parseText('--discord-username', discordUsername),
    }),
    ...(discordAvatar !== undefined && { discordAvatar: parseText('--discord-avatar', discordAvatar) }),
    ...(hideDiscord !== undefined && { hidesDiscord: hideDiscord }),
    ...flags,
  };
}

function parseText(option: string, text: string): string {
  const { length } = [...text];
  if (length <= MAX_TEXT_LENGTH) return text;
  throw new InvalidInput(`${option} has ${length} characters: use at most ${MAX_TEXT_LENGTH}`);
}

const COLUMNS: Columns<ListedUser> = {
  STEAMID64: ({ steamId64 }) => steamId64,
  NAME: ({ nickname }) => nickname || '-',
  FLAGS: flagsOf,
  DISCORD: ({ discordUsername, discordId }) => discordUsername || (discordId ?? '-'),
  TOKENS: ({ liveTokens }) => liveTokens,
  SINCE: ({ createdAt }) => describeDay(createdAt),
  'LAST SIGN-IN': ({ signedInAt }) => (signedInAt ? describeDay(signedInAt) : 'never'),
};

/** A user as lines of names and values. */
function describeUser(user: User & { isBanned: boolean }, grants: readonly GivenFlag[]): string {
  const { discordId, discordUsername, hidesDiscord } = user;
  const lines: [string, string][] = [
    ['Name', user.nickname || '-'],
    ['SteamID64', user.steamId64],
    ['Profile', steamProfileUrl(user.steamId64)],
    ['Flags', flagsOf(user)],
    ...grants.map((each): [string, string] => ['', describeGivenFlag(each)]),
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
function describeRecord(
  steamId64: SteamId64,
  { rows, total, playerName }: PlayerRecord,
  givenFlags: readonly GivenFlag[],
): string {
  const head = toLines([
    ['Name', playerName ?? '-'],
    ['SteamID64', steamId64],
    ['Profile', steamProfileUrl(steamId64)],
    ['Last sign-in', 'never: no account'],
    ...givenFlags.map((flag, index): [string, string] => [
      index === 0 ? 'Flags then' : '',
      describeGivenFlag(flag),
    ]),
    ['Penalties', String(total)],
  ]);
  const rest =
    total > rows.length ? `\n… and ${total - rows.length} more: penalties list --player ${steamId64}` : '';
  return total === 0 ? head : `${head}\n\n${toPenaltyTable(rows)}${rest}`;
}

function toLines(lines: [string, string][]): string {
  return lines.map(([name, value]) => `${name.padEnd(14)}${escapeUnprintable(value)}`).join('\n');
}

/** Where a flag comes from: `admin: simpleadmin, until 2026-12-05 10:00 UTC`. */
function describeGivenFlag({ flag, source, endsAt }: GivenFlag): string {
  const name = FLAGS[USER_FLAGS[flag]].option;
  const configured = flag === 'is_moderator' ? 'MODERATOR_STEAMIDS' : 'OWNER_STEAMIDS';
  const giver = { hand: 'by hand', configuration: configured }[String(source)] ?? source;
  return `${name}: ${giver}${endsAt ? `, until ${describeMoment(endsAt)}` : ''}`;
}

function describeBlock({ blockedAt, blockReason }: User): string {
  if (!blockedAt) return 'no';
  const since = `since ${describeMoment(blockedAt)}`;
  return blockReason ? `${since}: ${blockReason}` : since;
}

function flagsOf(user: User): string {
  const names = USER_FLAG_COLUMNS.filter((column) => user[column]).map((column) => FLAGS[column].option);
  return names.length === 0 ? '-' : names.join(', ');
}
