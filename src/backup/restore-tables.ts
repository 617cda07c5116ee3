import type { Transaction } from '../db/client.ts';
import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';
import { recountWithin } from '../queries/penalties/recount.ts';
import type { Manifest } from './manifest.ts';
import { listTables, writeRows, writeSequences } from './tables.ts';

/** Rebuilt from other tables, because its hashes and folded names depend on the PostgreSQL server. */
const DERIVED_NAMES = 'player_names';
const LOCK_NOT_AVAILABLE = '55P03';

/**
 * Empties the tables for the rows of a backup; other sessions see them once the transaction commits. Triggers are
 * disabled: what they maintain is in the backup, or is rebuilt by {@link finishTables}.
 * @throws {InvalidInput} when these are not the tables of the backup, or another session uses them.
 */
export async function emptyTables(transaction: Transaction, manifest: Manifest): Promise<void> {
  const tables = await listTables(transaction);
  if (
    tables.toSorted().join() !==
    manifest.tables
      .map(({ name }) => name)
      .sort()
      .join()
  ) {
    throw new InvalidInput('The database does not have the tables of the backup: restore into an empty one');
  }
  await transaction.unsafe(`set local lock_timeout = '1s'`);
  try {
    for (const table of tables) await transaction.unsafe(`alter table "${table}" disable trigger user`);
    await transaction.unsafe(`truncate ${tables.map((table) => `"${table}"`).join(', ')}`);
  } catch (error) {
    if (errorCode(error) !== LOCK_NOT_AVAILABLE) throw error;
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
  const has = (table: string) => tables.some(({ name }) => name === table);
  await writeSequences(transaction, sequences);
  if (has(DERIVED_NAMES)) await transaction.unsafe(REMEMBER_NAMES);
  await startNewEpoch(transaction, has('discord_feeds'));
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
async function startNewEpoch(transaction: Transaction, hasFeeds: boolean): Promise<void> {
  const [before] = await transaction.unsafe('select epoch from penalty_event_state');
  const epoch = crypto.randomUUID().slice(0, 8);
  await transaction.unsafe('update penalty_event_state set epoch = $1', [epoch]);
  if (hasFeeds) {
    await transaction.unsafe('update discord_feeds set epoch = $1 where epoch = $2', [
      epoch,
      String(before?.epoch),
    ]);
  }
}
