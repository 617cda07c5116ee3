import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openSoundStore } from '../../media/sound-store.ts';
import { storeUpload } from '../../media/uploads.ts';
import { type Connection, connect, type Db, inTransaction } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import { type DatabaseAddress, openMigratedDatabase, toOpenFailure } from '../db/open.ts';
import { hashApiToken } from '../domain/api-token.ts';
import { Conflict } from '../domain/errors.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { findRoundSounds } from '../queries/round-sounds/round-sounds.ts';
import { listServerStatuses } from '../queries/servers/servers.ts';
import { createApiToken, findLiveApiToken } from '../queries/users/api-tokens.ts';
import { lockOrCreateUser } from '../queries/users/user-changes.ts';
import type { Config } from '../runtime/config.ts';
import { probePort } from '../runtime/listen-failure.ts';
import { startLoop } from '../runtime/loop.ts';
import { runService } from '../service/service.ts';
import { fillHistory, saveDemoAddresses, seedCommunity } from './community.ts';
import { startDemoGames } from './games.ts';
import { ADMIN, MEMBER, MODERATOR, OWNER, type Person, personAt } from './people.ts';

export type Demo = {
  /** Where HTTP listens. */
  port: number;
  token: string;
  tokenOwner: Person;
  /** Stops everything, within five seconds. */
  stop: () => Promise<void>;
};

const TICK_MS = 1000;
const FIRST_POLL_LIMIT_MS = 4000;

/**
 * Starts the service on a made-up community with simulated game servers.
 * @param signal aborts the start at its next step.
 * @throws {InvalidInput} when the port is taken; {@link Conflict} when a demo runs on this data already.
 */
export async function startDemo(config: Config, log: Logger, signal: AbortSignal): Promise<Demo> {
  const stack = new AsyncDisposableStack();
  let address: DatabaseAddress | undefined;
  try {
    const port = await probePort(config.host, { setting: 'PORT', port: config.port });
    const opening = await openMigratedDatabase(config, {
      log,
      onClose: (_, close) => stack.defer(close),
      signal,
      beforeEmptying: async (session) => {
        await lockDemo(session, config);
        console.log('The demo has the database of an unreleased version: it is made anew.');
      },
      pool: { max: 2 },
    });
    const { db } = opening.database;
    address = opening.address;
    const session = connect(address.url, { max: 1, applicationName: 'demo', keepsSession: true });
    stack.defer(() => session.end({ timeout: 1 }));
    await lockDemo(session, config);
    await seedCommunity(db, new Date());
    signal.throwIfAborted();
    await fillHistory(db, new Date());
    const games = await startDemoGames(new Date());
    stack.defer(games.stop);
    await saveDemoAddresses(db, games.addresses);
    const advance = async () => games.advance(new Date());
    stack.defer(startLoop({ name: 'playing', everyMs: TICK_MS, work: advance, log }).stop);
    signal.throwIfAborted();

    const service = await runService(
      { ...config, port, publicUrl: config.publicUrl.replace(/:0$/, `:${port}`) },
      log,
      {
        demoPeople: {
          owner: personAt(OWNER).steamId64,
          admin: personAt(ADMIN).steamId64,
          moderator: personAt(MODERATOR).steamId64,
          member: personAt(MEMBER).steamId64,
        },
      },
    );
    stack.defer(service.stop);
    const tokenOwner = personAt(OWNER);
    const token = await findOrCreateToken(db, tokenOwner, join(config.dataDir, 'api-token'));
    await addSound(db, config, tokenOwner.steamId64);
    await waitForFirstPolls(db, signal);
    return { port, token, tokenOwner, stop: () => stack.disposeAsync() };
  } catch (error) {
    await stack.disposeAsync();
    throw address ? toOpenFailure(error, address) : error;
  }
}

/** The session holds the lock until it ends. @throws {Conflict} while another demo does. */
async function lockDemo(session: Connection, { dataDir }: Config): Promise<void> {
  const [lock] = await session`select pg_try_advisory_lock(${LOCKS.demo}) as "isHeld"`;
  if (lock?.isHeld === true) return;
  throw new Conflict(`A demo runs on ${dataDir} already: stop it or set another DATA_DIR`);
}

/** The demo stores its token next to its database, so that it stays the same across restarts. */
async function findOrCreateToken(db: Db, owner: Person, file: string): Promise<string> {
  const now = new Date();
  const storedToken = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (storedToken !== '' && (await findLiveApiToken(db, hashApiToken(storedToken), now))) return storedToken;
  const { token } = await inTransaction(db, async (tx) => {
    const user = await lockOrCreateUser(tx, owner.steamId64, 'operator');
    return createApiToken(tx, user.id, { name: 'demo', now, actor: 'operator' });
  });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  return token;
}

/** Uploads a tune as somebody's round-end sound, unless they have one. */
async function addSound(db: Db, config: Config, steamId64: SteamId64): Promise<void> {
  const { ready, latest } = await findRoundSounds(db, steamId64);
  if (ready || latest) return;
  const tune = buildDemoTune();
  await storeUpload(db, await openSoundStore(config), {
    ...{ steamId64, fileName: 'winning round.wav', bytes: tune.stream(), actor: 'operator' },
    maxBytes: tune.size,
  });
}

/** Waits up to four seconds for the servers to be online, so that the printed links show them. */
async function waitForFirstPolls(db: Db, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + FIRST_POLL_LIMIT_MS;
  const startedAt = new Date();
  while (performance.now() < deadline && !signal.aborted) {
    const statuses = await listServerStatuses(db);
    if (statuses.every(({ snapshot }) => snapshot?.isOnline && snapshot.polledAt >= startedAt)) return;
    await Bun.sleep(100);
  }
}

const SAMPLE_RATE = 44_100;
/** An arpeggio in A minor, in hertz. */
const NOTES_HZ = [220, 261.63, 329.63, 440, 523.25, 659.26, 880, 659.26, 523.25, 440, 659.26, 880];
const SAMPLES_PER_NOTE = 0.3 * SAMPLE_RATE;

/** A short tune as a WAV file (PCM, mono, 16 bit). @see http://soundfile.sapp.org/doc/WaveFormat/ */
function buildDemoTune(): Blob {
  const samples = Int16Array.from({ length: NOTES_HZ.length * SAMPLES_PER_NOTE }, (_, index) => {
    const seconds = (index % SAMPLES_PER_NOTE) / SAMPLE_RATE;
    const phase = 2 * Math.PI * (NOTES_HZ[Math.floor(index / SAMPLES_PER_NOTE)] ?? 0) * seconds;
    const pluck = Math.exp(-4 * seconds) * Math.min(seconds / 0.005, 1);
    return (Math.sin(phase) + 0.4 * Math.sin(2 * phase) + 0.2 * Math.sin(3 * phase)) * pluck * 16_000;
  });
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(36 + samples.byteLength, 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(1, 20);
  header.writeUInt16LE(1, 22);
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE * 2, 28);
  header.writeUInt16LE(2, 32);
  header.writeUInt16LE(16, 34);
  header.write('data', 36);
  header.writeUInt32LE(samples.byteLength, 40);
  return new Blob([header, samples]);
}
