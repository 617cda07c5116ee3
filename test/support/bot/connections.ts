import { afterEach } from 'bun:test';
import { type Bot, createBot } from '../../../bot/bot.ts';
import { type FakeDiscord, startFakeDiscord } from '../discord/fake-discord.ts';
import { waitFor } from '../wait.ts';
import { type LogLine, startTestBot } from './bot.ts';

type DiscordOptions = Parameters<typeof startFakeDiscord>[0];
type Timings = Parameters<typeof createBot>[0]['timings'];

export type Connection = {
  fake: FakeDiscord;
  bot: Bot;
  /** What this bot has logged. */
  lines: () => LogLine[];
  /** Starts the bot and waits until both sides call it connected. */
  connect: () => Promise<void>;
  /** Waits until it is connected again. */
  reconnected: () => Promise<unknown>;
};

/** Gives bots on one database, each at its own Discord, until the end of the test. Called outside of tests. */
export async function createConnections() {
  const { deps, lines } = await startTestBot();
  const started: { stop: () => Promise<void> }[] = [];
  afterEach(async () => {
    for (const { stop } of started.splice(0)) await stop();
  });
  return async (options: DiscordOptions = {}, timings: Timings = {}): Promise<Connection> => {
    const fake = await startFakeDiscord(options);
    const seen = lines.length;
    const bot = createBot({
      ...deps,
      token: fake.token,
      apiUrl: fake.apiUrl,
      timings: { ...deps.timings, ...timings },
    });
    started.push(bot, fake);
    const isConnected = () => bot.health().state === 'ready' && fake.gateway.isReady;
    return {
      fake,
      bot,
      lines: () => lines.slice(seen),
      connect: async () => {
        bot.start();
        await waitFor(isConnected);
      },
      reconnected: () => waitFor(isConnected),
    };
  };
}
