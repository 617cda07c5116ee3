import { afterAll } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder, startProgram } from './program.ts';
import { aToken } from './service.ts';

/** Processes of this test file that serve one database, each on a port of the test's; those that still run are killed at the end. */
export async function openApiProcesses() {
  const database = await createTestDatabase();
  const { token } = await aToken(database.db, 1, { now: new Date() });
  const folder = createTestFolder();
  const started = new Set<ReturnType<typeof startProgram>>();
  afterAll(async () => {
    for (const program of started) {
      program.kill('SIGKILL');
      await program.exited;
    }
    await folder.remove();
  });

  async function startService(port: number) {
    const program = startProgram('src/main.ts', {
      DATABASE_URL: database.url,
      HOST: '127.0.0.1',
      PORT: String(port),
      DRAIN_SECONDS: '3',
      ROLES: 'api',
      RATE_LIMIT_PUBLIC: '1000000',
      RATE_LIMIT_PROTECTED: '1000000',
      DATA_DIR: folder.path,
      STORAGE_DIR: join(folder.path, 'storage'),
    });
    started.add(program);
    await program.waitFor('HTTP server listening');
    return program;
  }

  return { token, folder, startService };
}
