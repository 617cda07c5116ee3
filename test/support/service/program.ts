import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { atEnd } from '../cleanup.ts';

/** A program of ours as a child process, as an operator starts it. */
export type Program = {
  pid: number;
  /** All of stdout so far. */
  stdout: () => string;
  stderr: () => string;
  /** Waits until stdout holds the text; fails with all output when the program ends first. */
  waitFor: (text: string | RegExp) => Promise<RegExpExecArray>;
  kill: (signal: NodeJS.Signals) => void;
  exited: Promise<number>;
};

/**
 * Starts `bun <file>` with only the environment given, besides PATH and HOME. Killed at the end of the test file.
 * @param through a command that starts it, such as `setpriv`.
 */
export function startProgram(
  file: string,
  env: Record<string, string>,
  args: string[] = [],
  { through = [] }: { through?: readonly string[] } = {},
): Program {
  const child = Bun.spawn([...through, 'bun', file, ...args], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
    stdin: 'ignore',
  });
  let stdout = '';
  let stderr = '';
  const watchers = new Set<() => void>();
  const collect = async (stream: ReadableStream<Uint8Array>, add: (text: string) => void) => {
    const decoder = new TextDecoder();
    for await (const chunk of stream) {
      add(decoder.decode(chunk, { stream: true }));
      for (const watcher of watchers) watcher();
    }
  };
  const isRead = Promise.all([
    collect(child.stdout, (text) => {
      stdout += text;
    }),
    collect(child.stderr, (text) => {
      stderr += text;
    }),
  ]);
  const exited = Promise.all([child.exited, isRead]).then(([code]) => code);
  atEnd(() => {
    child.kill('SIGKILL');
    return exited;
  });
  return {
    pid: child.pid,
    stdout: () => stdout,
    stderr: () => stderr,
    waitFor: (text) =>
      new Promise((resolve, reject) => {
        const pattern = typeof text === 'string' ? new RegExp(RegExp.escape(text)) : text;
        const look = () => {
          const match = pattern.exec(stdout);
          if (!match) return;
          watchers.delete(look);
          resolve(match);
        };
        watchers.add(look);
        look();
        void exited.then((code) =>
          reject(new Error(`ended with ${code} before ${pattern}\n${stdout}\n${stderr}`)),
        );
      }),
    kill: (signal) => child.kill(signal),
    exited,
  };
}

/** What a program that has ended left. */
export type Ended = { code: number; stdout: string; stderr: string };

/** Runs a program of ours, as {@link startProgram} starts it, to its end. */
export async function runProgram(...start: Parameters<typeof startProgram>): Promise<Ended> {
  const program = startProgram(...start);
  return { code: await program.exited, stdout: program.stdout(), stderr: program.stderr() };
}

/** The environment of a service with the API on a free port of loopback; its data lies in the folder. */
export function serviceEnv(
  folder: string,
  databaseUrl: string,
  more: Record<string, string> = {},
): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    DATA_DIR: folder,
    STORAGE_DIR: join(folder, 'storage'),
    HOST: '127.0.0.1',
    PORT: '0',
    ROLES: 'api',
    ...more,
  };
}

/** Services on one database, as processes with a folder. */
export function createServices(databaseUrl: string, defaults: Record<string, string> = {}) {
  const folder = createTestFolder();
  const env = serviceEnv(folder, databaseUrl, defaults);
  const start = (more: Record<string, string> = {}) => startProgram('src/main.ts', { ...env, ...more });
  return { folder, env, start };
}

/** Waits until a service listens. @returns its origin. */
export async function waitForOrigin(service: Program): Promise<string> {
  const [, port] = await service.waitFor(/"port":(\d+)[^\n]*HTTP server listening/);
  return `http://127.0.0.1:${port}`;
}

/** The environment of a service with API and bot, at a pretended Discord. */
export function botEnv(
  folder: string,
  { databaseUrl, discord }: { databaseUrl: string; discord: { token: string; apiUrl: string } },
): Record<string, string> {
  return serviceEnv(folder, databaseUrl, {
    ROLES: 'api,bot',
    PUBLIC_URL: 'https://play.example.org',
    METRICS_ALLOW: '127.0.0.0/8,::1',
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.apiUrl,
  });
}

/** Makes a folder, which is removed at the end of the test file. @returns its path. */
export function createTestFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'community-api-test-'));
  atEnd(() => rm(path, { recursive: true, force: true }));
  return path;
}
