import { Database } from 'bun:sqlite';
import { afterAll } from 'bun:test';
import { join } from 'node:path';
import { createTestFolder } from '../service/program.ts';
import { simpleAdminSqliteSchema } from './simple-admin-schema.ts';

export const PLAYER = '76561198000000001';
export const ADMIN = '76561198900000001';

export type SourceRow = Record<string, string | number | null>;

/** Inserts rows given as objects; numbers and text alike are written as text. */
export function insertion(table: string, rows: SourceRow[]): [string, (string | number | null)[]] {
  const columns = Object.keys(rows[0] ?? {});
  const marks = rows.map(() => `(${columns.map(() => '?').join(', ')})`).join(', ');
  return [
    `insert into ${table} (${columns.join(', ')}) values ${marks}`,
    rows.flatMap((row) => Object.values(row)),
  ];
}

/** A penalty of the plugin's tables; `values` replace and add columns. */
export const aRow = (values: SourceRow = {}) => ({
  player_name: 'Rzeźnik',
  player_steamid: PLAYER,
  admin_steamid: ADMIN,
  admin_name: 'Ala',
  reason: 'Wallhack',
  duration: 60,
  created: '2026-11-21 11:30:00',
  ends: '2026-11-21 12:30:00',
  server_id: null,
  status: 'ACTIVE',
  ...values,
});

type Fill = (file: Database) => void;

/**
 * Makes SQLite files as the plugin leaves them at a migration, and fills them. They are deleted when the file's tests are done.
 * @returns what makes one and returns its address.
 */
export function createSimpleAdminFiles(): (migration: 5 | 11 | 15, fill: Fill) => string {
  const folder = createTestFolder();
  afterAll(folder.remove);
  let files = 0;
  return (migration, fill) => {
    files += 1;
    const path = join(folder.path, `${files}.sqlite`);
    const file = new Database(path);
    file.run(simpleAdminSqliteSchema({ migration }));
    fill(file);
    file.close();
    return `sqlite:${path}`;
  };
}

/** Writes rows into an SQLite file, one statement each. */
export function insertRows(file: Database, table: string, rows: SourceRow[]): void {
  for (const row of rows) file.run(...insertion(table, [row]));
}
