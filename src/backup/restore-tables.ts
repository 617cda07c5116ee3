import type { Transaction } from '../db/client.ts';
import { InvalidInput } from '../domain/errors.ts';
import { type Recount, recountWithin } from '../queries/penalties/recount.ts';
import type { Manifest } from './manifest.ts';
import { listTables, writeSequences, writeTablePart } from './tables.ts';

export type RestoredTables = {
  add: (table: string, bytes: Uint8Array) => Promise<void>;
  /** @throws {InvalidInput} when rows are missing. */
  finish: (manifest: Manifest) => Promise<Recount>;
};

/** Rebuilt from other tables, because its hashes and folded names depend on the PostgreSQL server. */
const DERIVED_NAMES = 'player_names';

/**
 * Empties the tables for the rows of a backup; other sessions see them once the transaction commits. Triggers are
 * disabled: what they maintain is in the backup, or is rebuilt.
 */
export async function beginTables(transaction: Transaction, manifest: Manifest): Promise<RestoredTables> {
  const tables = await listTables(transaction);
  const expected = manifest.tables.map(({ name }) => name);
  if (tables.toSorted().join() !== expected.toSorted().join()) {
    throw new InvalidInput('The database does not have the tables of the backup: restore into an empty one');
  }
  const counts = new Map(tables.map((table) => [table, 0]));
  for (const table of tables) await transaction.unsafe(`alter table "${table}" disable trigger user`);
  await transaction.unsafe(`truncate ${tables.map((table) => `"${table}"`).join(', ')}`);
  const has = (table: string) => tables.includes(table);

  return {
    add: async (table, bytes) => {
      const known = counts.get(table);
      if (known === undefined)
        throw new InvalidInput(`The backup has rows of an unknown table ${JSON.stringify(table)}`);
      if (table === DERIVED_NAMES) return;
      counts.set(table, known + (await writeTablePart(transaction, table, bytes)));
    },
    finish: async ({ tables: expected, sequences }) => {
      for (const { name, rows } of expected) {
        if (name !== DERIVED_NAMES && counts.get(name) !== rows) {
          throw new InvalidInput(`The backup has ${counts.get(name)} rows of ${name} instead of ${rows}`);
        }
      }
      await writeSequences(transaction, sequences);
      if (has(DERIVED_NAMES)) await transaction.unsafe(REMEMBER_NAMES);
      await startNewEpoch(transaction, has('discord_feeds'));
      for (const table of tables) await transaction.unsafe(`alter table "${table}" enable trigger user`);
      return recountWithin(transaction);
    },
  };
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
