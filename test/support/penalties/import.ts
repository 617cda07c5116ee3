import { expect } from 'bun:test';
import type { Database } from '../../../src/db/database.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { waitFor } from '../wait.ts';
import type { ModelPenalty } from './model.ts';

/** A row at a source; its key is `TYPE ID`. */
export type SourceRow = Omit<ModelPenalty, 'id'> & { key: string };

/**
 * Imports rows; of a killed import the session ends before they are written.
 * @returns our ids of all imported rows by their keys.
 */
export async function importRows(
  { db, connection, url }: Database,
  rows: readonly SourceRow[],
  { now, isKilled }: { now: Date; isKilled: boolean },
): Promise<Map<string, number>> {
  let hasBegun = false;
  async function* chunks() {
    yield new TextEncoder().encode(rows.map((row) => `${JSON.stringify(toFields(row))}\n`).join(''));
    hasBegun = true;
    if (isKilled) await connection`select pg_terminate_backend(pid) ${sessions()}`;
  }
  const sessions = () => connection`from pg_stat_activity
    where datname = current_database() and application_name like 'import %'`;
  const deps = { db, databaseUrl: url, now: () => now, actor: 'operator' as const };
  const imported = importNdjson(deps, { chunks: chunks() });
  if (isKilled) {
    // The driver may report the lost session some seconds later.
    imported.then(
      () => expect.unreachable(),
      () => undefined,
    );
    await waitFor(async () => hasBegun && (await connection`select ${sessions()}`).length === 0, {
      limitMs: 60_000,
    });
  } else expect(await imported).toMatchObject({ read: rows.length, setAside: 0 });
  const stored = await connection`
    select id, source_table || ' ' || source_id as key from penalties where source = 'ndjson'`;
  return new Map(stored.map(({ id, key }) => [String(key), Number(id)]));
}

function toFields({ key, type, status, player, admin, server, reason, createdMs, endsMs }: SourceRow) {
  return {
    penalty_type: type,
    source_id: key.split(' ')[1],
    player_steamid: player,
    admin_steamid: admin,
    server_id: server,
    reason,
    status,
    created: toTime(createdMs),
    ends: toTime(endsMs),
  };
}

export function toTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
