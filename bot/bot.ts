import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Database } from '../src/db/client.ts';
import { InvalidInput } from '../src/errors.ts';
import { retryPauseMs } from '../src/retry-pause.ts';
import type { ServerBoard } from '../src/server-board.ts';
import type { ReadHistory } from '../src/server-history.ts';
import type { ResolveVanity } from '../src/steam-profile.ts';
import { withTimeLimit } from '../src/time-limit.ts';
import { createHistoryCharts } from './charts/history-charts.ts';
import { createCommands } from './commands/commands.ts';
import { type ConnectionHealth, type ConnectionTimings, createConnection } from './connection.ts';
import { type Cooldown, createCooldown } from './cooldown.ts';
import { createDispatcher, type DispatchCounts } from './dispatcher.ts';
import { createLiveStatus } from './live-status.ts';
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
  /** How long answers under way may take once the bot stops. */
  drainMs: number;
};

export type BotHealth = ConnectionHealth & {
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
  drainMs: 1000,
};
const REGISTRATION_PAUSES = { firstMs: 5000, longestMs: 600_000 };

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
  const chartOf = createHistoryCharts({ readHistory: deps.readHistory, log });
  const dispatcher = createDispatcher({
    ...createCommands({
      servers: board,
      publicUrl,
      chartOf,
      pinLiveStatus: liveStatus.pin,
      database,
      resolveVanity,
      now,
    }),
    cooldown: deps.cooldown ?? createCooldown(),
    log,
    homeGuildId: guildId,
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
      if (!isRegistered) void register();
      isRegistered = true;
    },
  });
  let isRegistered = false;
  const stopping = new AbortController();

  /** Until it worked or was refused; Discord being out of reach is tried again with growing pauses. */
  async function register(): Promise<void> {
    for (let failures = 1; !stopping.signal.aborted; failures += 1) {
      try {
        const registration = await registerCommands({ rest, db }, { guildId });
        const { isChanged, commands, scope, isOpenToAll } = registration;
        log.info(
          { commands, scope },
          isChanged ? 'the commands were put to Discord' : 'the commands are unchanged',
        );
        if (isOpenToAll && guildId === undefined) {
          log.warn(
            'anybody may add this bot to a guild of his own and read penalties there as its moderator: turn off "Public Bot" or set DISCORD_GUILD_ID',
          );
        }
        return;
      } catch (error) {
        log.warn({ err: error }, 'the commands were not put to Discord');
        if (error instanceof InvalidInput) return;
      }
      const pauseMs = retryPauseMs(failures, REGISTRATION_PAUSES);
      // Rejects when the bot stops, which ends the loop.
      await pause(pauseMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }

  return {
    /** Returns at once; the login goes on in the background. */
    start: (): void => connection.start(),
    /** Takes no more interactions, waits for answers and edits under way, disconnects: within about two seconds. */
    stop: async (): Promise<void> => {
      stopping.abort();
      const draining = Promise.allSettled([dispatcher.drain(), liveStatus.stop()]);
      await withTimeLimit(draining, timings.drainMs).catch(() => undefined);
      await connection.stop();
    },
    health: (): BotHealth => ({
      ...connection.health(),
      interactions: { ...dispatcher.counts },
      liveStatusMessages: liveStatus.count(),
    }),
  };
}
