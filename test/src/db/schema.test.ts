import { expect, test } from 'bun:test';
import { cp, mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { Connection } from '../../../src/db/client.ts';
import { loadMigrationHashes } from '../../../src/db/migrate.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder } from '../../support/service/program.ts';

const folder = createTestFolder();

test('the migrations make the tables of the schema', async () => {
  const migrated = await createTestDatabase();
  const fromSchema = await createTestDatabase({ isMigrated: false });
  const out = join(folder, 'empty');
  await mkdir(out);
  await generate(out);
  const [file = ''] = await listSql(out);
  await fromSchema.connection.unsafe(await readFile(join(out, file), 'utf8'));
  expect(await describeTables(migrated.connection)).toEqual(await describeTables(fromSchema.connection));
});

test('drizzle-kit finds nothing that a migration is missing for', async () => {
  const out = join(folder, 'migrations');
  await cp('src/db/migrations', out, { recursive: true });
  const before = await listSql(out);
  expect(await generate(out)).toContain('No schema changes');
  expect(await listSql(out)).toEqual(before);
});

/** The SHA-256 of the migrations of 1.0.0: an edited one would make the service refuse every existing database. */
const RELEASED = [
  '6c6375a43dcbf6087ac854a92b7d450ae52f60ee97eb6a99b1c584dabe11f31e',
  'e24a1a51b96449a4850c349d8a2eeac12a3ae790f17f89948faeb0ea0a7feea9',
  '7cae1a7c16acf41c130349570585e034e6a281d15fd45d925e3476269d72ee60',
  'fff3db9846cc2b30d1b55e593a56f356a5f281b982e3bcbee01cd2eb6fa75540',
  '7f69f13e9db7e9f03db8f400920c04b63a3e50a385f2f9e5b2d3eebb6e819853',
  '704115b01e71ac9f74d92a140005d711627c36d356401e827f4f37d6fd8670a6',
];

test('released migrations are never edited', async () => {
  const { connection } = await createTestDatabase();
  const hashes = await loadMigrationHashes(connection);
  expect(hashes.slice(0, RELEASED.length)).toEqual(RELEASED);
});

/** Runs `drizzle-kit generate`; @returns what it prints. */
async function generate(out: string): Promise<string> {
  const command = ['bunx', 'drizzle-kit', 'generate', '--dialect=postgresql', '--schema=src/db/schema/*.ts'];
  // drizzle-kit accepts only a path relative to the working directory.
  const program = Bun.spawn([...command, `--out=${relative('.', out)}`], { stdout: 'pipe', stderr: 'pipe' });
  const [printed, errors, code] = await Promise.all([
    program.stdout.text(),
    program.stderr.text(),
    program.exited,
  ]);
  expect([code, errors]).toEqual([0, expect.not.stringContaining('Error')]);
  return printed;
}

async function listSql(path: string): Promise<string[]> {
  return (await readdir(path)).filter((name) => name.endsWith('.sql')).sort();
}

/** Columns, types, constraints and indexes, whatever their order. */
async function describeTables(connection: Connection): Promise<unknown> {
  const columns = await connection`
    select table_name, column_name, is_nullable, column_default, is_identity,
      format_type(atttypid, atttypmod) as type
    from information_schema.columns
    join pg_attribute on attrelid = format('%I.%I', table_schema, table_name)::regclass and attname = column_name
    where table_schema = 'public' order by table_name, column_name`;
  const constraints = await connection`
    select conrelid::regclass::text as table_name, conname, pg_get_constraintdef(oid) as definition
    from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`;
  const indexes = await connection`
    select tablename, indexname, indexdef from pg_indexes where schemaname = 'public' order by 1, 2`;
  const enums = await connection`
    select enumtypid::regtype::text as name, json_agg(enumlabel::text order by enumsortorder) as labels
    from pg_enum group by enumtypid order by 1`;
  return { columns: [...columns], constraints: [...constraints], indexes: [...indexes], enums: [...enums] };
}
