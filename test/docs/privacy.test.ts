import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { createTestDatabase } from '../support/database/database.ts';

const { connection } = await createTestDatabase();
const page = readFileSync('docs/privacy.md', 'utf8');
const sections = page.split(/^## /m);
const notAboutPeople = sections.find((section) => section.startsWith('Not about people')) ?? '';

test('docs/privacy.md names every table of the database', async () => {
  const tables = await listColumns();
  expect([...tables.keys()].filter((table) => !page.includes(`\`${table}\``))).toEqual([]);
});

test('docs/privacy.md names every column of a table that has a section', async () => {
  const missing: string[] = [];
  for (const [table, columns] of await listColumns()) {
    const section = sections.find((text) => text.split('\n', 1)[0]?.includes(`\`${table}\``));
    // The rest of a snapshot is about the server.
    if (table === 'server_snapshots') continue;
    if (section === undefined) {
      if (!notAboutPeople.includes(`\`${table}\``)) missing.push(table);
      continue;
    }
    missing.push(
      ...columns.filter((name) => !section.includes(`\`${name}\``)).map((name) => `${table}.${name}`),
    );
  }
  expect(missing).toEqual([]);
});

test('docs/privacy.md names every column about people of the other tables', async () => {
  const isAboutPeople =
    /steamid|discord|nickname|user|player|admin|person|avatar|email|_by$|(^|_)ip($|_)|browser|system/;
  const tables = [...(await listColumns())].filter(([table]) => notAboutPeople.includes(`\`${table}\``));
  expect(tables.length).toBeGreaterThan(5);
  const missing = tables.flatMap(([table, columns]) =>
    columns
      .filter(
        (name) => isAboutPeople.test(name) && !PLAYER_COUNTS.test(name) && !page.includes(`\`${name}\``),
      )
      .map((name) => `${table}.${name}`),
  );
  expect(missing).toEqual([]);
});

/** Numbers of players, and the settings about them. */
const PLAYER_COUNTS = /^(players_(count|average|maximum|at_least)|max_players|has_players)$/;

async function listColumns(): Promise<Map<string, string[]>> {
  const rows = await connection<{ table: string; column: string }[]>`
    select table_name as "table", column_name as "column" from information_schema.columns
    where table_schema = 'public' order by 1, ordinal_position`;
  const groups = Map.groupBy(rows, ({ table }) => table);
  return new Map([...groups].map(([table, members]) => [table, members.map(({ column }) => column)]));
}
