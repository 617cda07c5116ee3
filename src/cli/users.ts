import type { Command } from 'commander';
import { isDiscordId } from '../discord-id.ts';
import { InvalidInput, NotFound } from '../errors.ts';
import { recordAudit } from '../queries/audit-log.ts';
import { findUser, saveUser, type UserChanges } from '../queries/users.ts';
import { parseSteamId, readSteamId, type SteamId64 } from '../steam-id.ts';
import { print, type Session } from './session.ts';

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
};

const FLAGS = ['admin', 'owner', 'svip', 'serviceplus'] as const;

/** `users set | show`. */
export function addUserCommands(program: Command, session: Session): void {
  const users = program.command('users').description('members of the community');
  const set = users
    .command('set')
    .description('make a user, or change what is given')
    .requiredOption('--steamid64 <id>', 'SteamID in any notation')
    .option('--nickname <name>')
    .option('--discord-id <id>', 'empty to unlink')
    .option('--discord-username <name>')
    .option('--discord-avatar <hash>');
  for (const flag of FLAGS) set.option(`--${flag}`, `is ${flag}`).option(`--no-${flag}`, `is not ${flag}`);
  set.action(async (options: UserOptions, command: Command) => {
    const steamId = parseSteamId(options.steamid64);
    const { db } = await session.database();
    const changes = changesOf(options, command);
    const user = await db.transaction(async (tx) => {
      const saved = await saveUser(tx, steamId, changes);
      await recordAudit(tx, {
        actorUserId: null,
        action: 'user.changed',
        subject: steamId,
        details: changes,
      });
      return saved;
    });
    print(command, user, `Saved ${user.steamId64}${user.nickname ? ` (${user.nickname})` : ''}`);
  });
  users
    .command('show <id>')
    .description('a user, by SteamID in any notation or Discord id')
    .action(async (id: string, _: unknown, command: Command) => {
      const who = parseWho(id);
      const { db } = await session.database();
      const user = await findUser(db, who, new Date());
      if (!user) throw new NotFound(`There is no user ${JSON.stringify(id)}`);
      const words = Object.entries(user).map(
        ([key, value]) => `${key.padEnd(16)} ${value instanceof Date ? value.toISOString() : value}`,
      );
      print(command, user, words.join('\n'));
    });
}

function changesOf(options: UserOptions, command: Command): UserChanges {
  const { nickname, discordId, discordUsername, discordAvatar } = options;
  if (discordId !== undefined && discordId !== '' && !isDiscordId(discordId)) {
    throw new InvalidInput(
      `--discord-id ${JSON.stringify(discordId)} is not allowed: give a Discord id, or nothing to unlink`,
    );
  }
  // A flag not named at all has a default in commander: only what stands on the command line counts.
  const isGiven = (flag: string) => command.getOptionValueSource(flag) === 'cli';
  return {
    ...(nickname !== undefined && { nickname: clean(nickname) }),
    ...(discordId !== undefined && { discordId: discordId === '' ? null : discordId }),
    ...(discordUsername !== undefined && { discordUsername: clean(discordUsername) }),
    ...(discordAvatar !== undefined && { discordAvatar: clean(discordAvatar) }),
    ...(isGiven('admin') && { isAdmin: options.admin === true }),
    ...(isGiven('owner') && { isOwner: options.owner === true }),
    ...(isGiven('svip') && { hasSvip: options.svip === true }),
    ...(isGiven('serviceplus') && { isServiceplus: options.serviceplus === true }),
  };
}

function parseWho(id: string): { discordId: string } | { steamId64: SteamId64 } {
  const steamId = readSteamId(id);
  if (steamId) return { steamId64: steamId };
  if (/^[0-9]{1,20}$/.test(id)) return { discordId: id };
  throw new InvalidInput(`${JSON.stringify(id)} is neither a SteamID nor a Discord id`);
}

function clean(text: string): string {
  return text.replaceAll('\0', '').slice(0, 128);
}
