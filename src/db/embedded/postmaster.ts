import { readdir, readFile, readlink, rm } from 'node:fs/promises';
import { join } from 'node:path';

/** Which server runs on a data folder, by its postmaster.pid and the system's processes. */

/** The helpers of a server that died end by themselves, within a moment. */
const HELPERS_LIMIT_MS = 5000;

/** The server that postmaster.pid names, when it lives and runs on this very folder. */
export async function readPostmasterPid(dir: string): Promise<{ pid: number; port: number } | undefined> {
  const lines = await readFile(join(dir, 'postmaster.pid'), 'utf8').catch(() => '');
  const [pid, , , port, , , , status] = lines.split('\n');
  if (!pid || !port || !status?.startsWith('ready')) return undefined;
  return (await isServerRunning(dir, Number(pid))) ? { pid: Number(pid), port: Number(port) } : undefined;
}

/**
 * Removes the postmaster.pid of a server that was killed. PostgreSQL takes any process with the old number for the old
 * server, and an empty file for one that is starting, and would not start. The old server's helpers must have ended:
 * PostgreSQL finds them by this file.
 */
export async function removeStalePidFile(dir: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const file = join(dir, 'postmaster.pid');
  const content = await readFile(file, 'utf8').catch(() => undefined);
  if (content === undefined) return;
  const [pid] = content.split('\n');
  if (await isServerRunning(dir, Number(pid))) return;
  const deadlineMs = performance.now() + HELPERS_LIMIT_MS;
  while (await hasHelpers(dir)) {
    if (performance.now() > deadlineMs) return;
    await Bun.sleep(50);
  }
  await rm(file, { force: true });
}

/** Whether a process of a server on this folder is left, as far as this one may see. */
async function hasHelpers(dir: string): Promise<boolean> {
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const workingFolder = await readlink(`/proc/${entry}/cwd`).catch(() => undefined);
    if (workingFolder === dir) return true;
    // Root in a container may not look: then any PostgreSQL may be of ours.
    if (workingFolder === undefined && (await commandLineOf(entry)).startsWith('postgres:')) return true;
  }
  return false;
}

/** A dead server whose parent does not collect it (a container without an init) still has its number, but no command. */
export async function isServerRunning(dir: string, pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  if (process.platform !== 'linux') return true;
  // After a reboot the number may belong to somebody else, another PostgreSQL even.
  return (await commandLineOf(pid)).includes(dir);
}

/** Arguments with NUL between them; '' for a process that is gone or a zombie. */
function commandLineOf(pid: number | string): Promise<string> {
  return readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
