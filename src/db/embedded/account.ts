import { spawn } from 'node:child_process';
import { realpathSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Unavailable } from '../../domain/errors.ts';

/** The account that PostgreSQL's programs run as. */
export type ServerAccount = { uid: number; gid: number };
type Ended = { code: number; output: string };

/**
 * The account for a server that root starts, since PostgreSQL refuses to run as root: `postgres`, created when missing,
 * otherwise `nobody`. Undefined for other users, who run it under their own account.
 * @throws {Unavailable} when root has no such account.
 */
export async function findServerAccount(): Promise<ServerAccount | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const account = (await passwdEntry('postgres')) ?? (await makeAccount()) ?? (await passwdEntry('nobody'));
  if (account) return account;
  throw new Unavailable(
    'Started as root, and there is no account to run PostgreSQL as: add a user named postgres',
  );
}

async function makeAccount(): Promise<ServerAccount | undefined> {
  const options = ['--system', '--user-group', '--shell', '/usr/sbin/nologin'];
  const { code } = await run('useradd', [...options, 'postgres']);
  return code === 0 ? passwdEntry('postgres') : undefined;
}

async function passwdEntry(name: string): Promise<ServerAccount | undefined> {
  const line = (await readFile('/etc/passwd', 'utf8'))
    .split('\n')
    .find((entry) => entry.startsWith(`${name}:`));
  const [, , uid, gid] = line?.split(':') ?? [];
  return uid && gid ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Whether an account may enter a folder and every one above it. */
export function canEnter({ uid, gid }: ServerAccount, path: string): boolean {
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    const { mode, uid: owner, gid: group } = statSync(folder);
    const bit = owner === uid ? 0o100 : group === gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) return false;
    if (folder === dirname(folder)) return true;
  }
}

/**
 * Runs a PostgreSQL program under the server's account. Where that account may not enter a parent folder (root's home
 * of mode 700), the program keeps the one capability that lets it pass.
 */
export async function runAs(
  { account, isOutOfReach }: { account: ServerAccount | undefined; isOutOfReach: boolean },
  program: string,
  args: string[],
): Promise<Ended> {
  if (!account) return run(program, args);
  const ids = [`--reuid=${account.uid}`, `--regid=${account.gid}`, '--clear-groups'];
  const passage = isOutOfReach ? await passageOptions() : [];
  return run('setpriv', [...ids, ...passage, program, ...args]);
}

/** Capabilities that let a process enter any folder, the lesser one first, with their bits in Linux. */
const PASSAGES = [
  { name: 'dac_read_search', bit: 2n },
  { name: 'dac_override', bit: 1n },
] as const;

/** Options that keep the lesser capability this process has; containers usually have only the greater one, or none. */
async function passageOptions(): Promise<string[]> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const ours = BigInt(`0x${/^CapPrm:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? '0'}`);
  const passage = PASSAGES.find(({ bit }) => (ours & (1n << bit)) !== 0n);
  if (!passage) return [];
  // PostgreSQL checks with access(2) whether its programs are executable; without this bit, that call ignores the
  // capabilities of an ordinary account.
  const securebits = '--securebits=+no_setuid_fixup';
  return [securebits, `--inh-caps=+${passage.name}`, `--ambient-caps=+${passage.name}`];
}

function run(program: string, args: string[]): Promise<Ended> {
  return new Promise((settle) => {
    let output = '';
    // In its own session: Ctrl-C in a terminal is for this process, which stops in order, and would interrupt initdb too.
    const child = spawn(program, args, { cwd: '/', stdio: ['ignore', 'pipe', 'pipe'], detached: true });
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (output += chunk));
    child.on('error', (error) => settle({ code: 127, output: error.message }));
    // On `exit`, not `close`: the server that pg_ctl starts may keep these pipes open.
    child.on('exit', (code) => settle({ code: code ?? 1, output }));
  });
}
