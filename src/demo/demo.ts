import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { connect, type Db } from '../db/client.ts';
import { LOCKS } from '../db/locks.ts';
import { type DatabaseAddress, openMigratedDatabase, toOpenFailure } from '../db/open.ts';
import { hashApiToken } from '../domain/api-token.ts';
import { Conflict } from '../domain/errors.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { findRoundSounds } from '../queries/round-sounds/round-sounds.ts';
import { listServerStatuses } from '../queries/servers/servers.ts';
import {
  createApiToken,
  findLiveApiToken,
  listLiveApiTokens,
  revokeApiToken,
} from '../queries/users/api-tokens.ts';
import { saveUser } from '../queries/users/user-changes.ts';
import type { Config } from '../runtime/config.ts';
import { probePort } from '../runtime/listen-failure.ts';
import { startLoop } from '../runtime/loop.ts';
import {
  DEMO_SEED,
  fillHistory,
  listDemoPeople,
  MODERATOR,
  saveDemoAddresses,
  seedCommunity,
} from './community.ts';
import { startDemoGames } from './games.ts';
import { MEMBER } from './penalties.ts';
import type { Person } from './people.ts';

export type Demo = {
  /** Where HTTP listens. */
  port: number;
  token: string;
  tokenOwner: Person;
  /** Stops everything, within five seconds. */
  stop: () => Promise<void>;
};

/** Passed in by the composition root: the demo is the same program on other data. */
export type DemoDeps = {
  runService: (
    config: Config,
    log: Logger,
    options: { demoPeople: Record<keyof typeof DEMO_PEOPLE, SteamId64> },
  ) => Promise<{ stop: () => Promise<void> }>;
  /** Queues a file as a round-end sound, like an upload. */
  uploadSound: (
    db: Db,
    config: Config,
    upload: { steamId64: SteamId64; fileName: string; bytes: Blob },
  ) => Promise<unknown>;
};

const TICK_MS = 1000;
const FIRST_POLL_LIMIT_MS = 4000;
const TOKEN_NAME = 'demo';
/** The people that visitors can sign in as, by their position; the owner has every flag and the token. */
const DEMO_PEOPLE = { owner: 15, admin: 1, moderator: MODERATOR, member: MEMBER } as const;

/**
 * Starts the service on a made-up community with simulated game servers.
 * @param signal aborts the start at its next step.
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
  let address: DatabaseAddress | undefined;
  try {
    const port = await probePort(config.host, { setting: 'PORT', port: config.port });
    const opened = await openMigratedDatabase(config, {
      log,
      onClose: (_, close) => stops.push(close),
      signal,
      pool: { max: 2 },
    });
    const { database } = opened;
    address = opened.address;
    const session = connect(address.url, { max: 1, applicationName: 'demo', keepsSession: true });
    stops.push(() => session.end({ timeout: 1 }));
    const [lock] = await session`select pg_try_advisory_lock(${LOCKS.demo}) as "isHeld"`;
    if (lock?.isHeld !== true) {
      throw new Conflict(`A demo runs on ${config.dataDir} already: stop it or set another DATA_DIR`);
    }
    await seedCommunity(database.db, new Date());
    signal.throwIfAborted();
    await fillHistory(database.db, new Date());
    const people = listDemoPeople();
    const personOf = (role: keyof typeof DEMO_PEOPLE): Person => {
      const person = people[DEMO_PEOPLE[role]];
      if (!person) throw new Error(`the demo has no ${role}`);
      return person;
    };
    const idOf = (role: keyof typeof DEMO_PEOPLE) => personOf(role).steamId64;
    const games = await startDemoGames(people, { now: new Date(), seed: DEMO_SEED });
    stops.push(games.stop);
    await saveDemoAddresses(database.db, games.addresses);
    const advance = async () => games.advance(new Date());
    stops.push(startLoop({ name: 'playing', everyMs: TICK_MS, work: advance, log }).stop);
    signal.throwIfAborted();

    const service = await runService(
      { ...config, port, publicUrl: config.publicUrl.replace(/:0$/, `:${port}`) },
      log,
      {
        demoPeople: {
          owner: idOf('owner'),
          admin: idOf('admin'),
          moderator: idOf('moderator'),
          member: idOf('member'),
        },
      },
    );
    stops.push(service.stop);
    const tokenOwner = personOf('owner');
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
    throw address ? toOpenFailure(error, address) : error;
  }
}

/** The demo stores its token next to its database, so that it stays the same across restarts. */
async function findOrCreateToken(db: Db, owner: Person, file: string): Promise<string> {
  const now = new Date();
  const kept = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (kept !== '' && (await findLiveApiToken(db, hashApiToken(kept), now))) return kept;
  const user = await saveUser(db, owner.steamId64, { actor: 'operator' });
  for (const { id, name } of await listLiveApiTokens(db, user.id, now)) {
    if (name === TOKEN_NAME) await revokeApiToken(db, id, { now, actor: 'operator' });
  }
  const { token } = await createApiToken(db, user.id, { name: TOKEN_NAME, now, actor: 'operator' });
  await writeFile(file, `${token}\n`, { mode: 0o600 });
  // writeFile sets the mode of new files only.
  await chmod(file, 0o600);
  return token;
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
/** An arpeggio in A minor, in hertz; one note every 300 ms. */
const NOTES_HZ = [220, 261.63, 329.63, 440, 523.25, 659.26, 880, 659.26, 523.25, 440, 659.26, 880];
const NOTE_SECONDS = 0.3;
const HEADER_BYTES = 44;

/** A short tune as a WAV file (mono, 16 bit), the round-end sound of the demo's owner. */
function buildDemoTune(): Uint8Array<ArrayBuffer> {
  const samplesPerNote = Math.round(SAMPLE_RATE * NOTE_SECONDS);
  const dataBytes = NOTES_HZ.length * samplesPerNote * 2;
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + dataBytes));
  writeHeader(view, dataBytes);
  NOTES_HZ.forEach((hertz, note) => {
    for (let i = 0; i < samplesPerNote; i++) {
      const seconds = i / SAMPLE_RATE;
      const phase = 2 * Math.PI * hertz * seconds;
      const pluck = Math.exp(-4 * seconds) * Math.min(seconds / 0.005, 1);
      const sample = (Math.sin(phase) + 0.4 * Math.sin(2 * phase) + 0.2 * Math.sin(3 * phase)) * pluck * 0.5;
      view.setInt16(HEADER_BYTES + (note * samplesPerNote + i) * 2, Math.round(sample * 32_000), true);
    }
  });
  return new Uint8Array(view.buffer);
}

/** RIFF WAVE, PCM. @see http://soundfile.sapp.org/doc/WaveFormat/ */
function writeHeader(view: DataView, dataBytes: number): void {
  const writeText = (at: number, text: string) => {
    for (let i = 0; i < text.length; i++) view.setUint8(at + i, text.charCodeAt(i));
  };
  writeText(0, 'RIFF');
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  writeText(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, SAMPLE_RATE, true);
  view.setUint32(28, SAMPLE_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  writeText(36, 'data');
  view.setUint32(40, dataBytes, true);
}
