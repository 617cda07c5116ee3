import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Connection } from '../../../src/db/client.ts';

/** Tables with a row, and files with a name or content, that has one of these texts. */
export async function findTraces(
  connection: Connection,
  folders: readonly string[],
  texts: readonly string[],
): Promise<string[]> {
  const traces: string[] = [];
  const tables = await connection<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`;
  for (const { name } of tables) {
    for (const text of texts) {
      const [row] = await connection`
        select count(*)::int as count from ${connection(name)} as t where strpos(t::text, ${text}) > 0`;
      if (row?.count > 0) traces.push(`${row?.count} rows of ${name}: ${text}`);
    }
  }
  for (const folder of folders) {
    for (const path of await readdir(folder, { recursive: true, withFileTypes: true })) {
      const file = join(path.parentPath, path.name);
      const content = path.isFile() ? await Bun.file(file).text() : '';
      for (const text of texts)
        if (file.includes(text) || content.includes(text)) traces.push(`${file}: ${text}`);
    }
  }
  return traces;
}
