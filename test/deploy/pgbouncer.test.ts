import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../support/database/database.ts';
import { hasPgBouncer, startPgBouncer } from '../support/database/pgbouncer.ts';
import { createTestFolder, startProgram } from '../support/service/program.ts';

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

/** As docs/scaling.md says. */
const IGNORED = 'statement_timeout, idle_in_transaction_session_timeout';

describe.skipIf(!hasPgBouncer())('behind PgBouncer', () => {
  test.each([
    ['transaction', IGNORED, 'a pooler in transaction mode'],
    ['session', '', 'unsupported startup parameter: statement_timeout'],
  ] as const)(
    '%s mode that ignores "%s" is refused in one line, by the CLI too',
    async (mode, ignores, line) => {
      const pool = await startPgBouncer(database.url, { folder: folder.path, mode, ignores });
      for (const [file, args] of [
        ['src/main.ts', []],
        ['src/cli.ts', ['servers', 'list']],
      ] as const) {
        const program = startProgram(file, envOf(pool.url, 'shared'), [...args]);
        expect(await program.exited).toBe(1);
        expect(program.stderr()).toContain(line);
        expect(program.stderr().trim().split('\n')).toHaveLength(1);
      }
      await pool.stop();
    },
  );

  test('session mode works', async () => {
    const pool = await startPgBouncer(database.url, {
      folder: folder.path,
      mode: 'session',
      ignores: IGNORED,
    });
    await runOnce(envOf(pool.url, 'shared'));
    await pool.stop();
  });
});
