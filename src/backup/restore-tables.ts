import { readdir } from 'node:fs/promises';
import { INSTANCE, type Transaction } from '../db/client.ts';
import { areOurs, MIGRATION_HASHES } from '../db/migrate.ts';
import { hasErrorCode, InvalidInput } from '../domain/errors.ts';
import { isUploadKey, type SoundFolders } from '../domain/round-sound.ts';
import { recountWithin } from '../queries/penalties/recount.ts';
import type { Manifest } from './manifest.ts';
import { listSounds } from './restore-sounds.ts';
import { listTables, type Queries, writeRows, writeSequences } from './tables.ts';

/** Tables that have rows even in an unused database. */
const ALWAYS_FILLED = ['penalty_event_state', 'settings', 'steam_calls'];
/** Rebuilt from other tables, because its hashes and folded names depend on the PostgreSQL server. */
const DERIVED_NAMES = 'player_names';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Refuses a backup whose schema this version does not know, or that is older than the target's.
 * @param applied the migrations of the target.
 * @throws {InvalidInput}
 */
export function requireFittingSchema(
  file: string,
  { migrations, productVersion }: Manifest,
  applied: readonly string[],
): void {
  const [made, known, target] = [migrations.length, MIGRATION_HASHES.length, applied.length];
  if (!areOurs(migrations)) {
    throw new InvalidInput(
      `${file} holds a schema that this version does not know (made by version ${productVersion})`,
    );
  }
  if (made > known) {
    throw new InvalidInput(
      `${file} was made by a newer version (${productVersion}): its schema has ${made} migrations, and this version knows ${known}; install that version or a later one`,
    );
  }
  if (!areOurs(applied)) throw new InvalidInput('The database has another schema: restore into an empty one');
  if (target > made) {
    throw new InvalidInput(
      `${file} has an older schema (${made} migrations) than the database (${target}): restore it into a new database, where it is migrated afterwards`,
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
  const counts: [name: string, count: number][] = [];
  for (const table of await listTables(queries)) {
    const [row] = await queries.unsafe(`select count(*) as rows from "${table}"`);
    if (!ALWAYS_FILLED.includes(table)) counts.push([table.replaceAll('_', ' '), Number(row?.rows)]);
  }
  const isFilled = counts.some(([, count]) => count > 0);
  counts.push(['sound files', (await listSounds(folders)).length]);
  counts.push(['uploads', (await readdir(folders.inbox)).filter(isUploadKey).length]);
  const filled = counts.filter(([, count]) => count > 0).map(([name, count]) => `${name}: ${count}`);
  if (filled.length === 0) return undefined;
  return { what: isFilled ? 'The database is' : 'The folder of sounds is', counts: filled.join(', ') };
}

/**
 * Empties the tables for the rows of a backup; other sessions see them once the transaction commits. Triggers are
 * disabled: what they maintain is in the backup, or is rebuilt by {@link finishTables}.
 * @throws {InvalidInput} when these are not the tables of the backup, or another session uses them.
 */
export async function emptyTables(transaction: Transaction, manifest: Manifest): Promise<void> {
  const tables = await listTables(transaction);
  const wanted = new Set(manifest.tables.map(({ name }) => name));
  if (wanted.symmetricDifference(new Set(tables)).size > 0) {
    throw new InvalidInput('The database does not have the tables of the backup: restore into an empty one');
  }
  await transaction.unsafe(`set local lock_timeout = '1s'`);
  try {
    for (const table of tables) await transaction.unsafe(`alter table "${table}" disable trigger user`);
    await transaction.unsafe(`truncate ${tables.map((table) => `"${table}"`).join(', ')}`);
  } catch (error) {
    if (!hasErrorCode(error, [LOCK_NOT_AVAILABLE])) throw error;
    throw new InvalidInput('The database is in use: stop what uses it, then run restore again');
  }
}

/** Inserts rows of an emptied table, each a line of JSON. */
export async function fillTable(transaction: Transaction, table: string, lines: Buffer): Promise<void> {
  if (table !== DERIVED_NAMES) await writeRows(transaction, table, lines);
}

/** @returns how many totals of penalties were wrong, and are now right. */
export async function finishTables(
  transaction: Transaction,
  { tables, sequences }: Manifest,
): Promise<number> {
  await writeSequences(transaction, sequences);
  await transaction.unsafe(REMEMBER_NAMES);
  await startNewEpoch(transaction);
  for (const { name } of tables) await transaction.unsafe(`alter table "${name}" enable trigger user`);
  return (await recountWithin(transaction)).wrong;
}

/** All names at once; the triggers of `0003_names.sql` are disabled. */
const REMEMBER_NAMES = `
  insert into player_names (steamid64, is_nickname, name, folded, grams)
  select steamid64, is_nickname, name, folded, grams
  from (
    select distinct player_steamid as steamid64, false as is_nickname, left(player_name, 256) as name from penalties
    where player_steamid <> 0 and player_name <> ''
    union all
    select steamid64, true, left(nickname, 256) from users where nickname <> ''
  ) as borne
  cross join lateral (select fold_text(name) as folded offset 0) as fold
  cross join lateral name_grams(folded)`;

/**
 * Gives the event log a new epoch: events since the backup are lost, and their ids will be reused, so that cursors of
 * clients have to be recognised as those of another database.
 */
async function startNewEpoch(transaction: Transaction): Promise<void> {
  const epoch = crypto.randomUUID().slice(0, 8);
  const ofBackup = 'epoch = (select epoch from penalty_event_state)';
  await transaction.unsafe(`update discord_feeds set epoch = $1 where ${ofBackup}`, [epoch]);
  await transaction.unsafe('update penalty_event_state set epoch = $1', [epoch]);
}
