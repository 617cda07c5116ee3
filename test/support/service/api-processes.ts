import { createTestDatabase } from '../database/database.ts';
import { createServices } from './program.ts';
import { aToken } from './service.ts';

/** Processes of this test file that serve one database, each on a port of the test's. */
export async function openApiProcesses() {
  const database = await createTestDatabase();
  const { token } = await aToken(database.db, 1, { now: new Date() });
  const { folder, start } = createServices(database.url, {
    RATE_LIMIT_PUBLIC: '1000000',
    RATE_LIMIT_PROTECTED: '1000000',
  });

  async function startService(port: number) {
    const program = start({ PORT: String(port) });
    await program.waitFor('HTTP server listening');
    return program;
  }

  return { token, folder, startService };
}
