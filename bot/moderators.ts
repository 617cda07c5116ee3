import type { REST } from '@discordjs/rest';
import type { Logger } from 'pino';
import { withTimeLimit } from '../src/runtime/time-limit.ts';
import { readApplication } from './register.ts';

export type ModeratorRule = {
  /** Begins to ask Discord, from the first login on; nothing is asked where the guild is given. */
  start: () => void;
  stop: () => void;
  /** Resolves once Discord has answered or failed to, at the latest after a second. */
  settled: () => Promise<void>;
  /** Whether the members with Timeout Members are moderators in this guild; in a direct message nobody is. */
  holdsIn: (guildId: string | null) => boolean;
  /** Why nobody is a moderator, for the operator; undefined where the rule holds. */
  objection: () => string | undefined;
};

type Options = {
  rest: REST;
  /** `DISCORD_GUILD_ID` */
  guildId: string | undefined;
  log: Logger;
  /** How often Discord is asked whether the application is still private. */
  checkEveryMs: number;
};

const SETTLED_WITHIN_MS = 1000;

/**
 * Where Discord's permissions make moderators: in the guild of `DISCORD_GUILD_ID`, else in every guild the bot is in,
 * but nowhere while the application is public. Whoever adds a public bot to a guild of their own moderates that guild.
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
    holdsIn: (asked) => asked !== null && (guildId === undefined ? isPublic === false : asked === guildId),
    objection: () => {
      if (guildId !== undefined || isPublic === false) return undefined;
      return isPublic
        ? 'nobody: the application is public and DISCORD_GUILD_ID is not set'
        : 'nobody: Discord has not said yet whether the application is public';
    },
  };
}
