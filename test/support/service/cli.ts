import { beforeEach, expect } from 'bun:test';
import { join } from 'node:path';
import { runCommand } from '../../../src/cli/run.ts';
import { apiTokens, auditLog, userFlags, users } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { servers } from '../../../src/db/schema/servers.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { createTestDatabase } from '../database/database.ts';
import { createTestFolder, type Ended } from './program.ts';

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

/** The words of a line, as a shell splits it: at spaces, except within double quotes. */
function splitWords(line: string): string[] {
  return Array.from(line.matchAll(/"([^"]*)"|\S+/g), ([word, quoted]) => quoted ?? word);
}

/** The operator's tool with these settings. Its commands are lines as in a shell. */
export function createTool(env: Record<string, string>) {
  const cli = (line: string, more: Record<string, string> = {}): Promise<Ended> =>
    runCli(splitWords(line), { ...env, ...more });

  /** Asserts a call that succeeds without a word on stderr. @returns what it prints. */
  async function succeed(line: string): Promise<string> {
    const { code, stdout, stderr } = await cli(line);
    expect([line, code, stderr]).toEqual([line, 0, '']);
    return stdout;
  }

  return {
    cli,
    succeed,
    /** Asserts a call that succeeds with JSON. */
    succeedWithJson: async (line: string) => JSON.parse(await succeed(`${line} --json`)),
    /** Asserts calls that fail, print nothing and give these reasons, each in one line or more. */
    expectRefusals: async (reasons: Record<string, string | RegExp>): Promise<void> => {
      const lines = Object.keys(reasons);
      const ended = await Promise.all(lines.map((line) => cli(line)));
      const expected = Object.values(reasons).map((reason) => ({
        ...{ code: 1, stdout: '' },
        stderr: typeof reason === 'string' ? `${reason}\n` : expect.stringMatching(reason),
      }));
      expect(Object.fromEntries(lines.map((line, index) => [line, ended[index]]))).toEqual(
        Object.fromEntries(lines.map((line, index) => [line, expected[index]])),
      );
    },
  };
}

/**
 * The operator's tool, on a database that is emptied before each test.
 * @param env what is configured besides the database and the folders.
 */
export async function openCli(env: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const { db } = database;
  const folder = createTestFolder();
  beforeEach(async () => {
    for (const table of [apiTokens, userFlags, users, servers, penalties, auditLog]) await db.delete(table);
  });
  const shared = {
    DATABASE_URL: database.url,
    DATA_DIR: folder,
    STORAGE_DIR: join(folder, 'storage'),
    ...env,
  };
  return { database, db, folder, env: shared, ...createTool(shared) };
}
