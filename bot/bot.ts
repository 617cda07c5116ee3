import type { Logger } from 'pino';
import type { Database } from '../src/db/client.ts';
import { InvalidInput } from '../src/errors.ts';
import type { ServerBoard } from '../src/server-board.ts';
import type { ReadHistory } from '../src/server-history.ts';
import type { ResolveVanity } from '../src/steam-profile.ts';
import { createCommands } from './commands/index.ts';
import { type ConnectionHealth, type ConnectionTimings, createConnection } from './connection.ts';
import { type Cooldown, createCooldown } from './cooldown.ts';
import { createDispatcher, type DispatchCounts } from './dispatcher.ts';
import { createHistoryCharts } from './history-charts.ts';
import { createLiveStatus } from './live-status.ts';
import { createModeratorRule } from './moderators.ts';
import { createRest, registerCommands } from './register.ts';

export type BotDeps = {
  token: string;
  /** Register the commands in this guild alone, and know moderators of this guild alone. */
  guildId: string | undefined;
  /** REST base; the gateway's address comes from it. */
  apiUrl: string;
  publicUrl: string;
  /** `reader` is asked anew for each lookup: it goes to another server when a replica fails. */
  database: Pick<Database, 'db' | 'reader'>;
  board: Pick<ServerBoard, 'current' | 'findById' | 'findBySlug' | 'onChange'>;
  readHistory: ReadHistory;
  resolveVanity: ResolveVanity;
  log: Logger;
  now?: () => Date;
  cooldown?: Cooldown;
  timings?: Partial<BotTimings>;
};

export type BotTimings = ConnectionTimings & {
  /** An answer that takes longer is acknowledged first. */
  deferAfterMs: number;
  /** Edits of one live status message are at least this far apart. */
  liveIntervalMs: number;
  /** How often Discord is asked whether the application is still private. */
  applicationCheckMs: number;
  /** How long answers under way may take once the bot stops. */
  drainMs: number;
};

export type BotHealth = ConnectionHealth & {
  /** Why nobody is a moderator; undefined where moderators are recognised. */
  moderators: string | undefined;
  interactions: DispatchCounts;
  liveStatusMessages: number;
};

const TIMINGS: BotTimings = {
  firstPauseMs: 1000,
  longestPauseMs: 300_000,
  resumeWithinMs: 10_000,
  readyWithinMs: 30_000,
  deferAfterMs: 1500,
  liveIntervalMs: 15_000,
  applicationCheckMs: 60_000,
  drainMs: 1000,
};
const LONGEST_REGISTRATION_PAUSE_MS = 600_000;

/**
 * The bot: commands, live status messages, one connection to Discord. Nothing it does ends the process or rejects;
 * `health` tells how it is.
 */
export function createBot(deps: BotDeps) {
  const { log, board, publicUrl, database, resolveVanity, guildId, token, apiUrl } = deps;
  const { db } = database;
  const timings = { ...TIMINGS, ...deps.timings };
  const now = deps.now ?? (() => new Date());
  const rest = createRest({ apiUrl, token });
  const liveStatus = createLiveStatus({
    db,
    rest,
    board,
    publicUrl,
    log,
    intervalMs: timings.liveIntervalMs,
  });
  const moderators = createModeratorRule({ rest, guildId, log, checkEveryMs: timings.applicationCheckMs });
  const chartOf = createHistoryCharts({ readHistory: deps.readHistory, log });
  const dispatcher = createDispatcher({
    ...createCommands({
      board,
      publicUrl,
      chartOf,
      pinLiveStatus: liveStatus.pin,
      database,
      resolveVanity,
      now,
    }),
    cooldown: deps.cooldown ?? createCooldown(),
    log,
    moderators,
    now,
    deferAfterMs: timings.deferAfterMs,
  });
  const connection = createConnection({
    token,
    apiUrl,
    log,
    timings,
    onInteraction: dispatcher.dispatch,
    onReady: () => {
      liveStatus.start();
      moderators.start();
      if (!isRegistered) void register();
      isRegistered = true;
    },
  });
  let isRegistered = false;
  let isStopped = false;
  let wake: (() => void) | undefined;

  /** Until it worked or was refused; Discord being out of reach is tried again with growing pauses. */
  async function register(): Promise<void> {
    for (let pauseMs = 5000; !isStopped; pauseMs = Math.min(pauseMs * 2, LONGEST_REGISTRATION_PAUSE_MS)) {
      try {
        const registration = await registerCommands({ rest, db }, { guildId });
        const { isChanged, commands, scope } = registration;
        log.info(
          { commands, scope },
          isChanged ? 'the commands were put to Discord' : 'the commands are unchanged',
        );
        return;
      } catch (error) {
        log.warn({ err: error }, 'the commands were not put to Discord');
        if (error instanceof InvalidInput) return;
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, pauseMs);
        wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  return {
    /** Returns at once; the login goes on in the background. */
    start: (): void => connection.start(),
    /** Takes no more interactions, waits for answers and edits under way, disconnects: within about two seconds. */
    stop: async (): Promise<void> => {
      isStopped = true;
      wake?.();
      moderators.stop();
      await Promise.race([
        Promise.allSettled([dispatcher.drain(), liveStatus.stop()]),
        Bun.sleep(timings.drainMs),
      ]);
      await connection.stop();
    },
    health: (): BotHealth => ({
      ...connection.health(),
      moderators: moderators.objection(),
      interactions: { ...dispatcher.counts },
      liveStatusMessages: liveStatus.count(),
    }),
  };
}
