import { afterAll } from 'bun:test';
import pino from 'pino';
import { type Bot, type BotDeps, createBot } from '../../../bot/bot.ts';
import { createCooldown } from '../../../bot/interactions/cooldown.ts';
import type { InteractionOutcome } from '../../../bot/interactions/outcome.ts';
import { createMirrorMetrics } from '../../../src/import/rounds.ts';
import { createHistoryReader } from '../../../src/live/server-history.ts';
import { createServerList } from '../../../src/live/server-list.ts';
import { type ServerState, saveServerPolls } from '../../../src/queries/servers/polls.ts';
import { listServerStatuses } from '../../../src/queries/servers/servers.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { aServerState } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { type FakeDiscord, startFakeDiscord } from '../discord/fake-discord.ts';
import { waitFor } from '../wait.ts';

export const PUBLIC_URL = 'https://play.example.org';

export type TestBot = Awaited<ReturnType<typeof startTestBot>>;

/** A line that the bot logged. */
export type LogLine = {
  level: number;
  msg: string;
  errorId?: string;
  err?: { message: string; stack?: string };
  reason?: string;
};

type Options = {
  discord?: Parameters<typeof startFakeDiscord>[0];
  fake?: FakeDiscord;
  bot?: Partial<BotDeps>;
  /** Commands that the cooldown allows at once; very many by default, for tests of anything else. */
  burst?: number;
  /** When polls count as old; never by default. */
  staleAfterMs?: number;
};

/** A bot with its own database and fake Discord; all of them end with the test file. */
export async function startTestBot({
  discord,
  fake: given,
  bot: overrides = {},
  burst = 100_000,
  staleAfterMs,
}: Options = {}) {
  const database = await createTestDatabase();
  const fake = given ?? (await startFakeDiscord(discord));
  const lines: LogLine[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const servers = await createServerList(database.db, log, {
    debounceMs: 0,
    ...(staleAfterMs !== undefined && { staleAfterMs }),
    ...(overrides.now && { now: overrides.now }),
  });
  const outcomes: InteractionOutcome[] = [];
  const deps: BotDeps = {
    token: fake.token,
    guildId: undefined,
    apiUrl: fake.apiUrl,
    publicUrl: PUBLIC_URL,
    arePenaltiesPublic: false,
    database,
    servers,
    readHistory: createHistoryReader(database.db, {
      now: () => new Date(),
      clockMs: () => performance.now(),
    }),
    vanityNames: { resolve: async () => undefined, isNameOf: async () => false },
    appealUrl: undefined,
    takesAppeals: true,
    linksAccounts: true,
    panels: [],
    showsPresence: false,
    language: undefined,
    timeZone: 'UTC',
    roles: undefined,
    mirrorMetrics: createMirrorMetrics(createMetrics()),
    log,
    countLogin: () => undefined,
    countInteraction: (outcome) => void outcomes.push(outcome),
    cooldown: createCooldown({ burst }),
    ...overrides,
    timings: {
      firstBackoffMs: 50,
      maxBackoffMs: 400,
      resumeWithinMs: 1500,
      liveIntervalMs: 100,
      feedIntervalMs: 250,
      inboxIntervalMs: 10,
      roleIntervalMs: 50,
      applicationCheckMs: 60_000,
      commandCheckMs: 60_000,
      ...overrides.timings,
    },
  };
  let bot = createBot(deps);
  afterAll(async () => {
    await bot.stop();
    servers.stop();
  });

  /** Starts another bot on the same database, at the same Discord, and waits until it is connected. The test stops it. */
  async function startNext(changes: Partial<BotDeps> = {}): Promise<Bot> {
    const next = createBot({ ...deps, ...changes, timings: { ...deps.timings, ...changes.timings } });
    next.start();
    await waitFor(() => next.health().state === 'ready');
    return next;
  }

  /** Waits until the servers in memory are those that are stored now. */
  async function refreshServers(): Promise<void> {
    const stored = JSON.stringify(await listServerStatuses(database.db));
    servers.invalidate();
    await waitFor(() => JSON.stringify(servers.current()) === stored);
  }

  return {
    ...database,
    fake,
    /** The bot that {@link connect} starts, or the last that {@link restart} started. */
    get bot(): Bot {
      return bot;
    },
    /** For another bot on the same database, at the same Discord. */
    deps,
    /** What was logged, the oldest line first. */
    lines,
    /** The lines that contain a text. */
    linesAbout: (text: string) => lines.filter(({ msg }) => msg.includes(text)),
    /** How interactions ended, in this order. */
    outcomes,
    /** Starts the bot and waits until it is connected, and its commands are registered or were refused. */
    connect: async () => {
      bot.start();
      await waitFor(() => bot.health().state === 'ready');
      await waitFor(() => lines.some(({ msg }) => msg.startsWith('slash commands')));
    },
    startNext,
    /** Stops the bot, and starts another in its place. */
    restart: async (changes: Partial<BotDeps> = {}) => {
      await bot.stop();
      bot = await startNext(changes);
    },
    refreshServers,
    /**
     * Saves a poll of one server, or of several at the same moment, in memory too.
     * @param answer undefined: none of them answered it.
     */
    poll: async (
      serverIds: number | readonly number[],
      answer: Partial<ServerState> | undefined,
      polledAt = new Date(),
    ): Promise<void> => {
      const state = answer && aServerState({ maxPlayers: 32, pingMs: 20, ...answer });
      const polls = [serverIds].flat().map((serverId) => ({ serverId, state, polledAt }));
      await saveServerPolls(database.db, polls);
      await refreshServers();
    },
  };
}
