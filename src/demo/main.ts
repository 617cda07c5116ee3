import { openSoundFolders } from '../../media/sound-folders.ts';
import { storeUpload } from '../../media/uploads.ts';
import { type Config, parseConfig } from '../config.ts';
import { Conflict, InvalidInput, Unavailable } from '../errors.ts';
import { createLogger } from '../log.ts';
import { runService } from '../service.ts';
import { type Demo, type DemoDeps, startDemo, toDemoConfig } from './demo.ts';
import { DEMO_SERVERS } from './servers.ts';

/** `bun run demo`: the service on made-up data, with simulated game servers. */

/** Livelier and quieter than the service, unless told otherwise. */
const DEFAULTS = { POLL_INTERVAL_SECONDS: '5', LOG_LEVEL: 'error' };

const stopping = new AbortController();
const stopped = new Promise<void>((settle) => stopping.signal.addEventListener('abort', () => settle()));
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => stopping.abort());

try {
  const config = toDemoConfig(parseConfig({ ...DEFAULTS, ...process.env }));
  console.log('Starting the demo: the first start makes its database and takes some seconds …');
  const log = createLogger(config.logLevel);
  const demo = await startDemo({ runService, uploadSound }, { config, log, signal: stopping.signal });
  console.log(describe(demo, config));
  await stopped;
  console.log('\nStopping …');
  await demo.stop();
} catch (error) {
  if (error instanceof InvalidInput || error instanceof Conflict || error instanceof Unavailable) {
    console.error(error.message);
    process.exit(1);
  }
  // The start was given up.
  if (!stopping.signal.aborted) throw error;
}
process.exit(0);

async function uploadSound(...[db, config, upload]: Parameters<DemoDeps['uploadSound']>) {
  return storeUpload(db, await openSoundFolders(config), {
    upload: { ...upload, bytes: upload.bytes.stream(), actorUserId: null },
    maxBytes: upload.bytes.size,
  });
}

function describe({ port, token, tokenOwner }: Demo, config: Config) {
  const { host, dataDir, storageDir, steam } = config;
  const isAnyAddress = host === '0.0.0.0' || host === '::';
  const base = `http://${isAnyAddress ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
  const authorized = `curl -s -H 'Authorization: Bearer ${token}'`;
  const unsteady = DEMO_SERVERS.filter(({ isUnsteady }) => isUnsteady).map(({ name }) => name);
  return `
The demo runs; Ctrl-C stops it.

  API        ${base}/api/v1/servers
  Reference  ${base}/swagger
  Account    ${base}/account (signs in at ${new URL(steam.openIdUrl).host})
  Health     ${base}/readyz
  API token  ${token}
             of ${tokenOwner.name}, ${tokenOwner.steamId64}
  Sound      ${base}/storage/roundsound/${tokenOwner.steamId64}.mp3

Try:

  curl -s '${base}/api/v1/servers'
  ${authorized} '${base}/api/v1/penalties?status=ACTIVE&per_page=3'
  ${authorized} '${base}/api/v1/users/lookup?steamid64=${tokenOwner.steamId64}'
  DATABASE_URL= DATA_DIR='${dataDir}' STORAGE_DIR='${storageDir}' bun run cli sounds list

${DEMO_SERVERS.length} simulated game servers are polled over UDP; ${unsteady.join(', ')} is down for one minute of every four.
Data is kept in ${dataDir}.`;
}
