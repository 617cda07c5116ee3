import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { type Config, ROLES } from '../config.ts';
import { type Db, openDatabase } from '../db/client.ts';
import { startEmbeddedPostgres } from '../db/embedded.ts';
import { holdLease } from '../db/lease.ts';
import { migrateDatabase } from '../db/migrate.ts';
import { toOpenFailure } from '../db/open-failure.ts';
import { Conflict } from '../errors.ts';
import { toListenFailure } from '../listen-failure.ts';
import {
  createApiToken,
  findLiveApiToken,
  listLiveApiTokens,
  revokeApiToken,
} from '../queries/api-tokens.ts';
import { findRoundSounds } from '../queries/round-sounds.ts';
import { listServerStatuses } from '../queries/servers.ts';
import { saveUser } from '../queries/users.ts';
import { runRegularly } from '../regular-work.ts';
import type { SteamId64 } from '../steam-id.ts';
import { DEMO_SEED, fillHistory, listDemoPeople, saveDemoAddresses, seedCommunity } from './community.ts';
import { startDemoGames } from './games.ts';
import type { Person } from './people.ts';
import { buildDemoTune } from './tune.ts';

export type Demo = {
  /** Where HTTP listens. */
  port: number;
  token: string;
  tokenOwner: Person;
  /** Stops everything, within five seconds. */
  stop: () => Promise<void>;
};

/** What the composition root hands over: the demo is the same program on other data. */
export type DemoDeps = {
  runService: (config: Config, log: Logger) => Promise<{ stop: () => Promise<void> }>;
  /** Puts a file in the queue of round-end sounds, as an upload does. */
  uploadSound: (
    db: Db,
    config: Config,
    upload: { steamId64: SteamId64; fileName: string; bytes: Blob },
  ) => Promise<unknown>;
};

const TICK_MS = 1000;
const FIRST_POLL_LIMIT_MS = 4000;
const TOKEN_NAME = 'demo';
/** Of the people: the user who has every flag. */
const TOKEN_OWNER = 15;

/** The settings of the demo: all parts, on data of its own, whatever database and sources the service has. */
export function toDemoConfig(config: Config): Config {
  const dataDir = join(config.dataDir, 'demo');
  return {
    ...config,
    databaseUrl: undefined,
    databaseReplicaUrls: [],
    dataDir,
    storageDir: join(dataDir, 'storage'),
    simpleAdmin: { ...config.simpleAdmin, url: undefined },
    roles: ROLES,
  };
}

/**
 * Starts the service on a made-up community with simulated game servers.
 * @param signal when it is aborted the start is given up, at the next step.
 * @throws {InvalidInput} when the port is taken; {@link Conflict} when a demo runs on this data already.
 */
export async function startDemo(
  { runService, uploadSound }: DemoDeps,
  { config, log, signal }: { config: Config; log: Logger; signal: AbortSignal },
): Promise<Demo> {
  const stops: (() => unknown)[] = [];
  const stop = async () => {
    for (const stopPart of stops.splice(0).reverse()) {
      try {
        await stopPart();
      } catch (error) {
        log.error({ err: error }, 'a part of the demo did not stop');
      }
    }
  };
  let url: string | undefined;
  try {
    const port = await findPort(config);
    const embedded = await startEmbeddedPostgres({ dataDir: config.dataDir, log });
    stops.push(embedded.stop);
    url = embedded.url;
    signal.throwIfAborted();
    await migrateDatabase(embedded.url, { log, signal });
    const lease = holdLease(embedded.url, { name: 'demo', log });
    stops.push(lease.stop);
    await lease.tried;
    if (!lease.isHeld()) {
      throw new Conflict(`A demo runs on ${config.dataDir} already: stop it or give another DATA_DIR`);
    }
    const database = openDatabase(embedded.url, { max: 2 });
    stops.push(() => database.close({ timeoutSeconds: 1 }));
    await seedCommunity(database.db, new Date());
    signal.throwIfAborted();
    await fillHistory(database.db, new Date());
    const people = listDemoPeople();
    const games = await startDemoGames(people, { now: new Date(), seed: DEMO_SEED });
    stops.push(games.stop);
    await saveDemoAddresses(database.db, games.addresses);
    const advance = async () => games.advance(new Date());
    stops.push(runRegularly({ name: 'playing', everyMs: TICK_MS, work: advance, log }));
    signal.throwIfAborted();

    const service = await runService(
      { ...config, port, publicUrl: config.publicUrl.replace(/:0$/, `:${port}`) },
      log,
    );
    stops.push(service.stop);
    const tokenOwner = people[TOKEN_OWNER];
    if (tokenOwner === undefined) throw new Error('the demo has no owner');
    const token = await findOrCreateToken(database.db, tokenOwner, join(config.dataDir, 'api-token'));
    const { ready, latest } = await findRoundSounds(database.db, tokenOwner.steamId64);
    if (!ready && !latest) {
      const bytes = new Blob([buildDemoTune()]);
      await uploadSound(database.db, config, {
        steamId64: tokenOwner.steamId64,
        fileName: 'winning round.wav',
        bytes,
      });
    }
    await waitForFirstPolls(database.db, signal);
    return { port, token, tokenOwner, stop };
  } catch (error) {
    await stop();
    throw url === undefined ? error : toOpenFailure(error, { url, isEmbedded: true });
  }
}

/** The port asked for, or a free one for 0; looked at first, since the rest takes seconds. */
async function findPort({ host, port }: Config): Promise<number> {
  try {
    const probe = Bun.serve({ hostname: host, port, reusePort: false, fetch: () => new Response() });
    const found = probe.port ?? port;
    await probe.stop(true);
    return found;
  } catch (error) {
    throw toListenFailure(error, { host, port });
  }
}

/** The demo keeps its token beside its database, so that it stays the same from start to start. */
async function findOrCreateToken(db: Db, owner: Person, file: string): Promise<string> {
  const now = new Date();
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '' && (await findLiveApiToken(db, kept, now))) return kept;
  const user = await saveUser(db, owner.steamId64);
  for (const { id, name } of await listLiveApiTokens(db, user.id, now)) {
    if (name === TOKEN_NAME) await revokeApiToken(db, id, { now });
  }
  const { token } = await createApiToken(db, user.id, { name: TOKEN_NAME, now });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  // The mode above counts for a new file only.
  await chmod(file, 0o600);
  return token;
}

/** Whoever follows the printed lines shall find the servers online. */
async function waitForFirstPolls(db: Db, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + FIRST_POLL_LIMIT_MS;
  const startedAt = new Date();
  while (performance.now() < deadline && !signal.aborted) {
    const statuses = await listServerStatuses(db);
    if (statuses.every(({ snapshot }) => snapshot?.isOnline && snapshot.polledAt >= startedAt)) return;
    await Bun.sleep(100);
  }
}
