import type { REST } from '@discordjs/rest';
import { type RESTGetAPIGatewayBotResult, Routes } from 'discord.js';
import type { Logger } from 'pino';
import { runRegularly } from '../../src/runtime/interval.ts';
import type { ConnectionHealth } from './connection.ts';

/**
 * Another process that runs this bot. A lease in the database normally prevents that; while the database is unreachable
 * there may be two. Discord sends every interaction to both, and takes the first response.
 */
export type Rival = {
  mayExist: () => boolean;
  /** Called when another bot has logged in or responded. */
  onSeen: () => void;
};

type Options = {
  rest: REST;
  rival: Rival;
  /** Of this bot's own connection. */
  health: () => ConnectionHealth;
  log: Logger;
  everyMs: number;
};

/**
 * Notices when a rival logs in: Discord reports how many logins the bot has left today. A login while this bot's own
 * connection changes is not noticed, since it may be its own.
 * @returns a function that stops the check.
 */
export function watchForRival({ rest, rival, health, log, everyMs }: Options): () => void {
  let last: { loginsLeft: number; since: Date } | undefined;
  return runRegularly({
    name: 'the check for another bot',
    everyMs,
    log,
    work: async (signal) => {
      const { state, since } = health();
      if (!rival.mayExist() || state !== 'ready') {
        last = undefined;
        return;
      }
      const gateway = (await rest.get(Routes.gatewayBot(), { signal })) as RESTGetAPIGatewayBotResult;
      const loginsLeft = gateway.session_start_limit.remaining;
      const isSameConnection = last?.since === since && health().since === since;
      if (isSameConnection && loginsLeft < (last?.loginsLeft ?? 0)) rival.onSeen();
      last = { loginsLeft, since };
    },
  });
}
