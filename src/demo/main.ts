import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Conflict, InvalidInput, Unavailable } from '../domain/errors.ts';
import { type Config, parseConfig } from '../runtime/config.ts';
import { createLogger } from '../runtime/log.ts';
import { TOOL } from '../runtime/tool.ts';
import { toDemoConfig } from './config.ts';
import { type Demo, startDemo } from './demo.ts';
import { DEMO_SERVERS } from './servers.ts';

/** `bun run demo`: the service on made-up data, with simulated game servers. */

/** Polls more often and logs less than the service, unless configured otherwise. */
const DEFAULTS = { POLL_INTERVAL_SECONDS: '5', LOG_LEVEL: 'error', SITE_NAME: 'The Frag Tavern' };

const stopping = new AbortController();
const stopped = new Promise<void>((settle) => stopping.signal.addEventListener('abort', () => settle()));
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());

try {
  const config = toDemoConfig(parseConfig(process.env, DEFAULTS));
  const isFirst = !existsSync(join(config.dataDir, 'postgres'));
  console.log(
    `Starting the demo${isFirst ? ': the first start creates its database and takes a few seconds' : ''} …`,
  );
  if (config.discord.token !== undefined) {
    console.log('DISCORD_TOKEN is set: the bot runs too, and shows the made-up data in its Discord guilds.');
  }
  if (config.redisUrl !== undefined) console.log('REDIS_URL is set: limits are kept in that Redis.');
  const log = createLogger(config.logLevel);
  const demo = await startDemo(config, log, stopping.signal);
  console.log(describe(demo, config));
  await stopped;
  console.log('\nStopping …');
  await demo.stop();
} catch (error) {
  if (error instanceof InvalidInput || error instanceof Conflict || error instanceof Unavailable) {
    console.error(error.message);
    process.exit(1);
  }
  // The start was aborted.
  if (!stopping.signal.aborted) throw error;
}
process.exit(0);

function describe({ port, token, tokenOwner }: Demo, config: Config) {
  const { host, dataDir } = config;
  const isAnyAddress = host === '0.0.0.0' || host === '::';
  const base = `http://${isAnyAddress ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
  const authorized = `curl -s -H 'Authorization: Bearer ${token}'`;
  const unsteady = DEMO_SERVERS.filter(({ isUnsteady }) => isUnsteady).map(({ name }) => name);
  return `
The demo is running; Ctrl-C stops it.

  Status     ${base}
  Account    ${base}/account: sign in as owner, admin, moderator, member
  API        ${base}/api/v1/servers
  Reference  ${base}/swagger
  Health     ${base}/readyz
  API token  ${token}
             of ${tokenOwner.name}, ${tokenOwner.steamId64}
  Sound      ${base}/storage/roundsound/${tokenOwner.steamId64}.mp3

Try:

  curl -s '${base}/api/v1/servers'
  ${authorized} '${base}/api/v1/penalties?status=ACTIVE&per_page=3'
  ${authorized} '${base}/api/v1/users/lookup?steamid64=${tokenOwner.steamId64}'
  ${TOOL} --demo sounds list

${DEMO_SERVERS.length} simulated game servers are polled over UDP; ${unsteady.join(', ')} is down for one minute of every four.
Data is kept in ${dataDir}: to start over, stop the demo and delete this folder.`;
}
