import { PermissionFlagsBits } from 'discord.js';
import { createLoop } from '../../src/runtime/loop.ts';
import { withTimeLimit } from '../../src/runtime/time-limit.ts';
import type { BotContext } from '../context.ts';
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

/** What Discord has said about the application. */
type State = 'private' | 'public' | 'unknown';

const SETTLED_WITHIN_MS = 1000;
const OBJECTIONS = {
  public: 'nobody: the application is public and DISCORD_GUILD_ID is not set',
  unknown: 'nobody: Discord has not said yet whether the application is public',
};
const WARNINGS = {
  public:
    'nobody is a moderator, since anybody may add this bot to a guild of their own: turn off "Public Bot" or set DISCORD_GUILD_ID',
  unknown: 'nobody is a moderator until Discord says whether the application is public',
};

/**
 * In which guilds Discord's permissions make moderators: in that of `DISCORD_GUILD_ID`, else in every guild of the bot,
 * but in none while the application is public, since anybody could add the bot to a guild of their own and moderate it.
 */
export function createModeratorRule({ rest, guildId, log, timings }: BotContext): ModeratorRule {
  let state: State = 'unknown';
  let reported: State | undefined;
  const first = Promise.withResolvers<void>();
  const loop = createLoop({
    name: 'asking whether the application is public',
    everyMs: timings.applicationCheckMs,
    work: check,
    log,
  });

  async function check(): Promise<void> {
    let failure: unknown;
    try {
      state = (await readApplication(rest)).isPublic ? 'public' : 'private';
    } catch (error) {
      failure = error;
    }
    first.resolve();
    if (state === reported) return;
    if (state !== 'private') log.warn({ err: failure }, WARNINGS[state]);
    else if (reported) log.info('moderators are recognised again: the application is private');
    reported = state;
  }

  return {
    start: () => {
      if (guildId === undefined) loop.start();
    },
    stop: loop.stop,
    settled: async () => {
      if (guildId === undefined && state === 'unknown') {
        await withTimeLimit(first.promise, SETTLED_WITHIN_MS).catch(() => undefined);
      }
    },
    holdsIn: (id) => id !== null && (guildId === undefined ? state === 'private' : id === guildId),
    objection: () => (guildId !== undefined || state === 'private' ? undefined : OBJECTIONS[state]),
  };
}
