import type { Command } from 'commander';
import { isDiscordId } from '../domain/discord-id.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import { USER_FLAGS } from '../domain/rights/user-flags.ts';
import { loadPlayerRecord } from '../queries/penalties/player-record.ts';
import { blockUser, unblockUser } from '../queries/users/user-blocks.ts';
import { saveUser, type UserChanges } from '../queries/users/user-changes.ts';
import { listGivenFlags } from '../queries/users/user-flags.ts';
import { searchUsers } from '../queries/users/users.ts';
import { print, toTable } from './output/print.ts';
import {
  describeGivenFlag,
  describeListedUser,
  describeRecord,
  describeUser,
  USER_HEADER,
} from './output/user-words.ts';
import { addPersonalDataCommands } from './personal-data.ts';
import type { Session } from './session.ts';
import { findUserOf, loadUser, resolveSteamId, userNotFound } from './who.ts';

type UserOptions = {
  steamid64: string;
  nickname?: string;
  discordId?: string;
  discordUsername?: string;
  discordAvatar?: string;
  admin?: boolean;
  owner?: boolean;
  svip?: boolean;
  serviceplus?: boolean;
  moderator?: boolean;
  hideDiscord?: boolean;
};

const USERS_LISTED = 100;
const PENALTIES_SHOWN = 20;
const MAX_TEXT_LENGTH = 128;
/** The flag options, and what each gives to a user. */
const FLAGS = {
  admin: 'the flag admin',
  owner: 'the flag owner',
  svip: 'SVIP',
  serviceplus: 'Premium (Service+)',
  moderator: 'the flag moderator',
} as const;

/** `users set | show | list | block | unblock | export | erase`. */
export function addUserCommands(program: Command, session: Session): void {
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
  for (const [flag, given] of Object.entries(FLAGS)) {
    set
      .option(`--${flag}`, `give them ${given}`)
      .option(`--no-${flag}`, `take ${given} away from them, if it was given by hand`);
  }
  set.action(async (options: UserOptions, command: Command) => {
    const steamId = await resolveSteamId(session, options.steamid64);
    const changes = changesOf(options, command);
    const { db } = await session.database();
    const user = await saveUser(db, steamId, { changes, actor: 'operator' });
    print(command, user, `Saved ${user.steamId64}${user.nickname ? ` (${user.nickname})` : ''}`);
    const remaining = (await listGivenFlags(db, steamId)).filter(
      ({ flag }) => changes[USER_FLAGS[flag]] === false,
    );
    if (remaining.length === 0) return;
    throw new Conflict(`They keep what other sources give: ${remaining.map(describeGivenFlag).join('; ')}`);
  });
  users
    .command('show <id>')
    .description(
      'a user, by SteamID in any notation, profile address or Discord id; the record and flags of a player without an account',
    )
    .action(async (id: string, _: unknown, command: Command) => {
      const { db, who, user } = await findUserOf(session, id);
      if (!user) {
        const options = { page: 1, perPage: PENALTIES_SHOWN, now: new Date() };
        if (!('steamId64' in who)) throw userNotFound(who);
        const { steamId64 } = who;
        const [record, flags] = await Promise.all([
          loadPlayerRecord(db, steamId64, options),
          listGivenFlags(db, steamId64),
        ]);
        if (record.total === 0 && flags.length === 0) throw userNotFound(who);
        print(command, { steamId64, flags, ...record }, describeRecord(steamId64, record, flags));
        return;
      }
      const flags = await listGivenFlags(db, user.steamId64);
      print(command, { ...user, flags }, describeUser(user, flags));
    });
  users
    .command('list [search]')
    .description(`the newest ${USERS_LISTED} users; with a search, by part of a name, SteamID or Discord id`)
    .action(async (search: string | undefined, _: unknown, command: Command) => {
      const { db } = await session.database();
      const query = { query: search ?? '', page: 1, perPage: USERS_LISTED, now: new Date() };
      const page = await searchUsers(db, query);
      const rest = page.total - page.users.length;
      const table = toTable(USER_HEADER, page.users.map(describeListedUser), 'No users.');
      print(command, page.users, rest > 0 ? `${table}\n… and ${rest} more: search for them` : table);
    });
  users
    .command('block <id>')
    .description('refuse the tokens, sessions, sign-ins and uploads of a user, at once and everywhere')
    .option('--reason <text>', 'what the user is told', '')
    .action(async (id: string, { reason }: { reason: string }, command: Command) => {
      const { db, user } = await loadUser(session, id);
      await blockUser(db, user.steamId64, { reason, now: new Date(), actor: 'operator' });
      print(command, { blocked: user.steamId64 }, `Blocked ${user.steamId64}`);
    });
  users
    .command('unblock <id>')
    .description('let a blocked user in again; their tokens work again')
    .action(async (id: string, _: unknown, command: Command) => {
      const { db, user } = await loadUser(session, id);
      await unblockUser(db, user.steamId64, { actor: 'operator' });
      print(command, { unblocked: user.steamId64 }, `Unblocked ${user.steamId64}`);
    });
  addPersonalDataCommands(users, session);
}

function changesOf(options: UserOptions, command: Command): UserChanges {
  const { nickname, discordId, discordUsername, discordAvatar } = options;
  if (discordId !== undefined && discordId !== '' && !isDiscordId(discordId)) {
    throw new InvalidInput(
      `--discord-id ${JSON.stringify(discordId)} isn't valid: use a Discord id, or nothing to unlink`,
    );
  }
  // Commander gives flags a default: only those on the command line count.
  const isGiven = (flag: string) => command.getOptionValueSource(flag) === 'cli';
  return {
    ...(nickname !== undefined && { nickname: parseText('--nickname', nickname) }),
    ...(discordId !== undefined && { discordId: discordId === '' ? null : discordId }),
    ...(discordUsername !== undefined && {
      discordUsername: parseText('--discord-username', discordUsername),
    }),
    ...(discordAvatar !== undefined && { discordAvatar: parseText('--discord-avatar', discordAvatar) }),
    ...(isGiven('hideDiscord') && { hidesDiscord: options.hideDiscord === true }),
    ...(isGiven('admin') && { isAdmin: options.admin === true }),
    ...(isGiven('owner') && { isOwner: options.owner === true }),
    ...(isGiven('svip') && { hasSvip: options.svip === true }),
    ...(isGiven('serviceplus') && { isServiceplus: options.serviceplus === true }),
    ...(isGiven('moderator') && { isModerator: options.moderator === true }),
  };
}

function parseText(option: string, text: string): string {
  const { length } = [...text];
  if (length <= MAX_TEXT_LENGTH) return text;
  throw new InvalidInput(`${option} has ${length} characters: use at most ${MAX_TEXT_LENGTH}`);
}
