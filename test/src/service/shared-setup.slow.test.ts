import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder, startProgram } from '../../support/service/program.ts';

const database = await createTestDatabase();
const folder = createTestFolder();
afterAll(folder.remove);

const envOf = (databaseUrl: string, storage: string) => ({
  DATABASE_URL: databaseUrl,
  HOST: '127.0.0.1',
  PORT: '0',
  ROLES: 'api',
  DATA_DIR: join(folder.path, 'data'),
  STORAGE_DIR: join(folder.path, storage),
});

/** Starts a service until it listens, and stops it. @returns what it logged. */
async function runOnce(env: Record<string, string>): Promise<string> {
  const program = startProgram('src/main.ts', env);
  await program.waitFor('HTTP server listening');
  program.kill('SIGINT');
  await program.exited;
  return program.stdout();
}

test('two processes on one database notice that their STORAGE_DIR differ', async () => {
  const MISMATCH = 'STORAGE_DIR is not the folder';
  const together = await Promise.all([
    runOnce(envOf(database.url, 'shared')),
    runOnce(envOf(database.url, 'shared')),
  ]);
  expect(together.join()).not.toContain(MISMATCH);
  const elsewhere = await runOnce(envOf(database.url, 'of-its-own'));
  expect(elsewhere).toContain(MISMATCH);
  const { expected, file } = JSON.parse(
    elsewhere.split('\n').find((line) => line.includes(MISMATCH)) ?? '{}',
  );
  await Bun.write(file, expected);
  expect(await runOnce(envOf(database.url, 'of-its-own'))).not.toContain(MISMATCH);
});
