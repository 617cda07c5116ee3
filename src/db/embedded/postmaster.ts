import { existsSync } from 'node:fs';
import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../../domain/error-causes.ts';

/** Finds the server that runs on a data folder, by its postmaster.pid and the list of processes. */

/** How long to wait for the child processes of a server that died; they normally end within a moment. */
const HELPERS_LIMIT_MS = 5000;

/** How long a server may take to start (recovery included) or to stop. */
const SETTLE_LIMIT_MS = 60_000;
const SETTLE_CHECK_MS = 50;

/** A server that accepts connections. */
type RunningServer = { pid: number; port: number };

/**
 * The server that runs on this folder, if there is one. While it is starting or stopping, because a process ended before that
 * was done, waits for the outcome: PostgreSQL refuses to start a second server meanwhile.
 */
export async function findRunningServer(dir: string): Promise<RunningServer | undefined> {
  const deadlineMs = performance.now() + SETTLE_LIMIT_MS;
  for (;;) {
    const { pid, port, isReady } = await readPostmasterPid(dir);
    if (!(await isServerRunning(dir, pid))) return undefined;
    if (isReady) return { pid, port };
    if (performance.now() > deadlineMs) return undefined;
    await Bun.sleep(SETTLE_CHECK_MS);
  }
}

/** What postmaster.pid says; the numbers are NaN where it has none. */
async function readPostmasterPid(dir: string): Promise<RunningServer & { isReady: boolean }> {
  const lines = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = lines.split('\n');
  return {
    pid: Number.parseInt(pid ?? '', 10),
    port: Number.parseInt(port ?? '', 10),
    isReady: status?.startsWith('ready') ?? false,
  };
}

/**
 * Removes the postmaster.pid of a server that was killed. Otherwise PostgreSQL may refuse to start: it takes any process
 * with the old PID for the old server, and an empty file for a server that is starting. The old server's child processes
 * must have ended before: PostgreSQL finds them by this file.
 */
export async function removeStalePidFile(dir: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const file = join(dir, 'postmaster.pid');
  if (!existsSync(file)) return;
  const { pid } = await readPostmasterPid(dir);
  if (await isServerRunning(dir, pid)) return;
  const deadlineMs = performance.now() + HELPERS_LIMIT_MS;
  while (await hasHelpers(dir)) {
    if (performance.now() > deadlineMs) return;
    await Bun.sleep(50);
  }
  await rm(file, { force: true });
}

/** Whether a child process of a server on this folder is still running, as far as this process may see. */
async function hasHelpers(dir: string): Promise<boolean> {
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const workingFolder = await readlink(`/proc/${entry}/cwd`).catch(() => undefined);
    if (workingFolder === dir) return true;
    // Root in a container may not read it: then any PostgreSQL process may be one of this folder.
    if (workingFolder === undefined && (await commandLineOf(entry)).startsWith('postgres:')) return true;
  }
  return false;
}

/** Also false for a zombie, which a container without init leaves: its PID exists, but its command line is empty. */
export async function isServerRunning(dir: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  // After a reboot the PID may belong to another process, even to another PostgreSQL.
  return (await commandLineOf(pid)).includes(dir);
}

/** The arguments, separated by NUL; '' for a process that has ended or is a zombie. */
function commandLineOf(pid: number | string): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}
