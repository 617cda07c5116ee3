import { afterAll, beforeEach, expect } from 'bun:test';
import { runCommand } from '../../../src/cli/run.ts';
import { apiTokens, auditLog, users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder } from './program.ts';

export type Ended = { code: number; stdout: string; stderr: string };

/** Runs the operator's tool in this process. */
export async function runCli(
  args: readonly string[],
  env: Record<string, string>,
  { isTerminal = false }: { isTerminal?: boolean } = {},
): Promise<Ended> {
  let stdout = '';
  let stderr = '';
  const warn = (text: string) => {
    stderr += text;
  };
  const code = await runCommand(args, {
    configure: (defaults) => parseConfig(env, defaults),
    output: {
      isTerminal,
      print: (lines) => {
        stdout += `${lines}\n`;
      },
      warn: (lines) => warn(`${lines}\n`),
      progress: { write: warn },
    },
    interrupted: new Promise(() => {}),
  });
  return { code, stdout, stderr };
}

/** The operator's tool, on a database that is emptied before each test. */
export async function openCli() {
  const database = await createTestDatabase();
  const { db } = database;
  const folder = createTestFolder();
  afterAll(folder.remove);
  beforeEach(async () => {
    for (const table of [apiTokens, users, servers, penalties, auditLog]) await db.delete(table);
  });

  async function cli(args: string[], env: Record<string, string> = {}): Promise<Ended> {
    return runCli(args, { DATABASE_URL: database.url, DATA_DIR: folder.path, ...env });
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
