import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { MIGRATIONS_FOLDER } from './migrate.ts';

/** All tables of the schema after the newest migration. */
export async function loadTableNames(): Promise<string[]> {
  const folder = join(MIGRATIONS_FOLDER, 'meta');
  const newest =
    (await readdir(folder))
      .filter((name) => name.endsWith('_snapshot.json'))
      .sort()
      .at(-1) ?? '';
  const { tables }: { tables: Record<string, { name: string }> } = JSON.parse(
    await readFile(join(folder, newest), 'utf8'),
  );
  return Object.values(tables).map(({ name }) => name);
}
