import { afterAll } from 'bun:test';
import pino from 'pino';
import { type BotDeps, createBot } from '../../bot/bot.ts';
import { createCooldown } from '../../bot/cooldown.ts';
import { listServerHistory } from '../../src/queries/server-samples.ts';
import type { ServerAnswer } from '../../src/queries/servers.ts';
import { createServerBoard } from '../../src/server-board.ts';
import { saveServerPoll } from './builders.ts';
import { createTestDatabase } from './database.ts';
import { type FakeDiscord, startFakeDiscord } from './discord/fake-discord.ts';
import { waitFor } from './wait.ts';

export const PUBLIC_URL = 'https://play.example.org';

/** Log lines a bot wrote, parsed. */
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
  /** Turns of the cooldown at once; many, unless the cooldown is what is tested. */
  burst?: number;
};

/** A bot on a database of its own, at a Discord of its own; all of it ends with the test file. */
export async function startTestBot({
  discord,
  fake: given,
  bot: overrides = {},
  burst = 100_000,
}: Options = {}) {
  const database = await createTestDatabase();
  const fake = given ?? (await startFakeDiscord(discord));
  const lines: LogLine[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const board = await createServerBoard(database.db, log);
  const deps: BotDeps = {
    token: fake.token,
    guildId: undefined,
    apiUrl: fake.apiUrl,
    publicUrl: PUBLIC_URL,
    database,
    board,
    readHistory: async (serverId, hours) => {
      const readAt = new Date();
      const since = new Date(readAt.getTime() - hours * 3_600_000);
      const points = await listServerHistory(database.reader, serverId, {
        since,
        until: readAt,
        stepSeconds: 300,
      });
      return { points, stepSeconds: 300, readAt };
    },
    resolveVanity: async () => undefined,
    log,
    cooldown: createCooldown({ burst }),
    ...overrides,
    timings: {
      firstPauseMs: 50,
      longestPauseMs: 400,
      resumeWithinMs: 1500,
      liveIntervalMs: 100,
      applicationCheckMs: 60_000,
      ...overrides.timings,
    },
  };
  const bot = createBot(deps);
  afterAll(async () => {
    await bot.stop();
    board.stop();
    await fake.stop();
  });
  return {
    ...database,
    fake,
    bot,
    deps,
    board,
    lines,
    /** Starts the bot and waits until Discord sees it and it sees Discord. */
    connect: async () => {
      bot.start();
      await waitFor(() => bot.health().state === 'ready');
    },
    /** Reads the servers into memory again. */
    refreshBoard: async () => {
      let isRead = false;
      const before = board.current();
      board.onChange(() => {
        isRead = true;
      });
      board.invalidate();
      await waitFor(() => isRead || board.current() !== before);
    },
    poll: (serverId: number, answer: Partial<ServerAnswer> | undefined, polledAt = new Date()) =>
      saveServerPoll(database.db, serverId, {
        answer: answer && {
          hostname: 'A host',
          map: 'de_mirage',
          playersCount: 0,
          maxPlayers: 32,
          pingMs: 20,
          players: [],
          ...answer,
        },
        polledAt,
      }),
  };
}
