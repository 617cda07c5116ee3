import { expect } from 'bun:test';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { loadTables } from '../../../src/backup/tables.ts';
import { type Connection, connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { checkPenaltyTallies } from '../../../src/queries/penalties/recount.ts';
import { createLogger } from '../../../src/runtime/log.ts';
import { anAudio, sine, toWav } from '../audio/audio.ts';
import { aSteamId } from '../database/builders.ts';
import { fillEveryTable, readEveryTable } from '../database/every-table.ts';
import { startProgram } from './program.ts';

export const PLAYER = aSteamId(5);

/** A database with its folders, and the operator's tool on them. */
export type Place = ReturnType<typeof openPlace>;

export function openPlace(folder: string, name: string, databaseUrl?: string) {
  const env: Record<string, string> = {
    DATA_DIR: join(folder, name),
    STORAGE_DIR: join(folder, `${name}-storage`),
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  };
  return {
    env,
    published: join(folder, `${name}-storage/roundsound`),
    cli: async (...args: string[]) => {
      const program = startProgram('src/cli.ts', env, args);
      const code = await program.exited;
      return { code, stdout: program.stdout(), stderr: program.stderr() };
    },
    /** Whatever PostgreSQL it is on; for as long as the work takes. */
    withDatabase: async <T>(work: (connection: Connection, url: string) => Promise<T>): Promise<T> => {
      const log = createLogger('silent');
      const embedded = databaseUrl
        ? undefined
        : await startEmbeddedPostgres({ dataDir: env.DATA_DIR ?? '', log });
      const url = databaseUrl ?? embedded?.url ?? '';
      const connection = connect(url, { max: 1 });
      try {
        return await work(connection, url);
      } finally {
        await connection.end();
        await embedded?.stop();
      }
    },
  };
}

/**
 * Everything that people leave behind, by the service's own commands and straight into every table.
 * @returns the API token that was made.
 */
export async function fillPlace(place: Place): Promise<string> {
  const sound = join(place.env.DATA_DIR ?? '', '../fanfare.wav');
  await Bun.write(sound, toWav(anAudio({ seconds: 1, shape: sine(440, 0.05) }), 's16'));
  const made = await place.cli('tokens', 'create', '--steamid64', PLAYER, '--name', 'website', '--json');
  expect(made).toMatchObject({ code: 0 });
  const token = /[A-Za-z0-9_-]{30,}/.exec(made.stdout)?.[0] ?? '';
  expect(await place.cli('sounds', 'add', '--steamid64', PLAYER, sound)).toMatchObject({ code: 0 });
  await place.withDatabase(async (connection) => {
    const tables = await loadTables();
    await connection`delete from audit_log`;
    await fillEveryTable(connection, tables);
    const rows = await readEveryTable(connection, tables);
    expect(Object.entries(rows).filter(([, lines]) => lines.length === 0)).toEqual([]);
  });
  return token;
}

/** All that a database holds. */
export async function readPlace(place: Place) {
  return place.withDatabase(async (connection, url) => {
    const tables = await loadTables();
    const rows = await readEveryTable(connection, tables);
    const sequences = await connection`select sequencename, last_value from pg_sequences order by 1`;
    return { tables, rows, sequences: [...sequences], tallies: await checkPenaltyTallies(url) };
  });
}

/** Every row but the epoch of events, which is another one after a restore. */
function withoutEpoch(rows: Record<string, string[]>) {
  const { penalty_event_state: state = [], ...others } = rows;
  return { ...others, state: state.map((line) => line.replace(/"epoch":"[^"]*"/, '')) };
}

/** The published files, as name and hash. */
export async function readPublished({ published }: Place) {
  const names = (await readdir(published)).filter((name) => name.endsWith('.mp3')).sort();
  return Promise.all(names.map(async (name) => [name, Bun.hash(await readFile(join(published, name)))]));
}

/** Expects that a backup of the one was restored into the other. */
export async function expectSame(from: Place, to: Place): Promise<void> {
  const [before, after] = [await readPlace(from), await readPlace(to)];
  expect(withoutEpoch(after.rows)).toEqual(withoutEpoch(before.rows));
  expect(after.rows.penalty_event_state).not.toEqual(before.rows.penalty_event_state);
  expect(after.sequences).toEqual(before.sequences);
  expect(after.tallies).toEqual({ tallies: before.tallies.tallies, wrong: 0 });
  expect(await readPublished(to)).toEqual(await readPublished(from));
}
