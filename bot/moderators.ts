import type { REST } from '@discordjs/rest';
import { PermissionFlagsBits } from 'discord.js';
import type { Logger } from 'pino';
import { withTimeLimit } from '../src/runtime/time-limit.ts';
import { readApplication } from './rest.ts';

/** What makes a member a moderator: "Timeout Members" in Discord's settings, `MODERATE_MEMBERS` in its API. */
export const MODERATOR_PERMISSION = PermissionFlagsBits.ModerateMembers;
/** What lets a member manage feeds: "Manage Server" in Discord's settings, `MANAGE_GUILD` in its API. */
export const MANAGER_PERMISSION = PermissionFlagsBits.ManageGuild;

export type ModeratorRule = {
  /** Starts the check of the application, at the first login; without effect when `guildId` is set. */
  start: () => void;
  stop: () => void;
  /** Resolves once the first check has ended, after a second at the latest. */
  settled: () => Promise<void>;
  /** Whether the members with Timeout Members are moderators in this guild; in a direct message nobody is. */
  holdsIn: (guildId: string | null) => boolean;
  /** Why nobody is a moderator, for the operator; undefined when moderators are recognised. */
  objection: () => string | undefined;
};

type Options = {
  rest: REST;
  /** `DISCORD_GUILD_ID` */
  guildId: string | undefined;
  log: Logger;
  /** How often to check that the application is still private. */
  checkEveryMs: number;
};

const SETTLED_WITHIN_MS = 1000;

/**
 * In which guilds Discord's permissions make moderators: in that of `DISCORD_GUILD_ID`, else in every guild of the bot,
 * but in none while the application is public, since anybody could add the bot to a guild of their own and moderate it.
 */
export function createModeratorRule({ rest, guildId, log, checkEveryMs }: Options): ModeratorRule {
  let isPublic: boolean | undefined;
  let isFailing = false;
  let timer: ReturnType<typeof setInterval> | undefined;
  const first = Promise.withResolvers<void>();

  async function check(): Promise<void> {
    try {
      const application = await readApplication(rest);
      const hadNone = isPublic === true || (isPublic === undefined && isFailing);
      const wasPublic = isPublic;
      isPublic = application.isPublic;
      isFailing = false;
      if (isPublic && !wasPublic) {
        log.warn(
          'nobody is a moderator, since anybody may add this bot to a guild of their own: turn off "Public Bot" or set DISCORD_GUILD_ID',
        );
      }
      if (!isPublic && hadNone) log.info('moderators are recognised again: the application is private');
    } catch (error) {
      if (!isFailing && isPublic === undefined) {
        log.warn(
          { err: error },
          'nobody is a moderator until Discord says whether the application is public',
        );
      }
      isFailing = true;
    } finally {
      first.resolve();
    }
  }

  return {
    start: () => {
      if (guildId !== undefined || timer !== undefined) return;
      timer = setInterval(check, checkEveryMs);
      void check();
    },
    stop: () => clearInterval(timer),
    settled: async () => {
      if (guildId === undefined && isPublic === undefined) {
        await withTimeLimit(first.promise, SETTLED_WITHIN_MS).catch(() => undefined);
      }
    },
    holdsIn: (id) => id !== null && (guildId === undefined ? isPublic === false : id === guildId),
    objection: () => {
      if (guildId !== undefined || isPublic === false) return undefined;
      return isPublic
        ? 'nobody: the application is public and DISCORD_GUILD_ID is not set'
        : 'nobody: Discord has not said yet whether the application is public';
    },
  };
}
