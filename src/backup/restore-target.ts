import { readdir } from 'node:fs/promises';
import { INSTANCE } from '../db/client.ts';
import { areOurs, MIGRATION_HASHES } from '../db/migrate.ts';
import { InvalidInput } from '../domain/errors.ts';
import type { SoundFolders } from '../domain/round-sound.ts';
import { isUploadKey } from '../domain/round-sound.ts';
import type { Manifest } from './manifest.ts';
import { listSounds } from './restore-sounds.ts';
import { listTables, type Queries } from './tables.ts';

/** Tables that have rows even in an unused database. */
const ALWAYS_FILLED = new Set(['penalty_event_state', 'settings', 'steam_calls']);
/** What best describes what would be lost. */
const MAIN_TABLES = ['penalties', 'users', 'servers', 'round sounds', 'api tokens'];

/**
 * Refuses a backup whose schema this version does not know, or that is older than the target's.
 * @param applied the migrations of the target.
 * @throws {InvalidInput}
 */
export function requireFittingSchema(file: string, manifest: Manifest, applied: readonly string[]): void {
  const { migrations, productVersion } = manifest;
  if (!areOurs(migrations)) {
    throw new InvalidInput(
      `${file} holds a schema that this version does not know (made by version ${productVersion})`,
    );
  }
  if (migrations.length > MIGRATION_HASHES.length) {
    throw new InvalidInput(
      `${file} was made by a newer version (${productVersion}): its schema has ${migrations.length} migrations, and this version knows ${MIGRATION_HASHES.length}; install that version or a later one`,
    );
  }
  if (!areOurs(applied)) {
    throw new InvalidInput('The database has another schema: restore into an empty one');
  }
  if (applied.length > migrations.length) {
    throw new InvalidInput(
      `${file} has an older schema (${migrations.length} migrations) than the database (${applied.length}): restore it into a new database, where it is migrated afterwards`,
    );
  }
}

/**
 * Refuses while a service or another command of the operator's tool uses the database.
 * @throws {InvalidInput} with the names of the sessions.
 */
export async function requireNobody(queries: Queries): Promise<void> {
  const rows = await queries.unsafe(
    `select distinct regexp_replace(application_name, ' [0-9a-f]{8}(\\.[0-9]+)?$', '') as name from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
       and application_name ~ ' [0-9a-f]{8}(\\.[0-9]+)?$' and application_name !~ $1 order by name`,
    [` ${INSTANCE}(\\.[0-9]+)?$`],
  );
  if (rows.length === 0) return;
  const names = rows.map((row) => row.name).join(', ');
  throw new InvalidInput(
    `The service, or another command, is using the database (connections: ${names}): stop it on every machine, then run restore again`,
  );
}

/** What a restore would replace, with `counts` such as `penalties: 12, users: 3`; undefined when there is nothing. */
export async function describeContents(
  queries: Queries,
  folders: SoundFolders,
): Promise<{ what: string; counts: string } | undefined> {
  const rows: Record<string, number> = {};
  for (const table of await listTables(queries)) {
    if (ALWAYS_FILLED.has(table)) continue;
    const [row] = await queries.unsafe(`select count(*) as rows from "${table}"`);
    rows[table.replaceAll('_', ' ')] = Number(row?.rows);
  }
  const files = {
    'sound files': (await listSounds(folders)).length,
    uploads: (await readdir(folders.inbox)).filter(isUploadKey).length,
  };
  const main = Object.fromEntries(MAIN_TABLES.map((name) => [name, rows[name] ?? 0]));
  const database = describe(main) || describe(rows);
  const counts = [database, describe(files)].filter((part) => part !== '').join(', ');
  if (counts === '') return undefined;
  return { what: database === '' ? 'The folder of sounds is' : 'The database is', counts };
}

function describe(counts: Record<string, number>): string {
  const filled = Object.entries(counts).filter(([, count]) => count > 0);
  return filled.map(([name, count]) => `${name}: ${count}`).join(', ');
}
