import { afterAll, beforeEach, expect } from 'bun:test';
import { apiTokens, users } from '../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../src/db/schema/audit-log.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder, startProgram } from './program.ts';

type Ended = { code: number; stdout: string; stderr: string };

/** The operator's tool on a database of its own, which is emptied before each test. */
export async function openCli() {
  const database = await createTestDatabase();
  const { db } = database;
  const folder = createTestFolder();
  afterAll(folder.remove);
  beforeEach(async () => {
    for (const table of [apiTokens, users, servers, penalties, auditLog]) await db.delete(table);
  });

  async function cli(args: string[], env: Record<string, string> = {}): Promise<Ended> {
    const program = startProgram(
      'src/cli.ts',
      { DATABASE_URL: database.url, DATA_DIR: folder.path, ...env },
      args,
    );
    const code = await program.exited;
    return { code, stdout: program.stdout(), stderr: program.stderr() };
  }

  /** Asserts a call that succeeds without a word on stderr. */
  async function succeed(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await cli(args);
    expect([args, code, stderr]).toEqual([args, 0, '']);
    return stdout;
  }

  const fail = async (...args: string[]) => {
    const { code, stdout, stderr } = await cli(args);
    return [code, stdout, stderr];
  };
  return { database, db, folder, cli, succeed, fail };
}
