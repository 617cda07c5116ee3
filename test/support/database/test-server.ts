import { existsSync, mkdtempSync, statfsSync } from 'node:fs';
import { chown, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Glob } from 'bun';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { CERTIFICATE, KEY } from '../http/certificate.ts';
import { waitFor } from '../wait.ts';

const log = pino({ level: 'silent' });

/** Memory as a folder, where writing the thousand files of a cluster takes a fraction of the time. */
const IN_MEMORY = '/dev/shm';
/** What has to be free there: tests that write much run beside each other, and a container may have only 64 MB. */
const MIN_FREE_BYTES = 8 * 1024 ** 3;

/** Nothing here outlives the run, so the server need not wait for the disk. */
const FAST_SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'max_connections=200'];

export type TestServer = { url: string; stop: () => Promise<void> };

/** A PostgreSQL with the migrated, empty database {@link MIGRATED}. */
export async function openTestServer(): Promise<TestServer> {
  const dataDir = mkdtempSync(join(findParent(), 'community-api-test-'));
  await copyClusterTemplate(dataDir);
  const embedded = await startEmbeddedPostgres({ dataDir, log, settings: FAST_SETTINGS });
  // As if it had been migrated just now.
  await runOnServer(
    embedded.url,
    `update penalty_event_state
      set epoch = substr(md5(random()::text), 1, 8), expired_up_to = date_trunc('second', now())`,
    MIGRATED,
  );
  return {
    url: embedded.url,
    stop: async () => {
      await embedded.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Makes a server accept TLS, with a certificate for another host than 127.0.0.1. */
export async function encryptServer({ url }: TestServer): Promise<void> {
  const admin = connect(url, { max: 1 });
  const [row] = await admin`show data_directory`;
  const { uid, gid } = await stat(row?.data_directory);
  for (const [name, text] of Object.entries({ 'server.crt': CERTIFICATE, 'server.key': KEY })) {
    const path = join(row?.data_directory, name);
    await writeFile(path, text, { mode: 0o600 });
    // PostgreSQL refuses a key of others.
    await chown(path, uid, gid);
  }
  await admin`alter system set ssl = on`;
  await admin`select pg_reload_conf()`;
  await waitFor(async () => (await admin`show ssl`)[0]?.ssl === 'on');
  await admin.end();
}

export async function runOnServer(serverUrl: string, statement: string, name = 'postgres'): Promise<void> {
  const connection = connect(nameDatabase(serverUrl, name), { max: 1 });
  await connection.unsafe(statement);
  await connection.end();
}

/** The address of a database of a server. */
export function nameDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

function findParent(): string {
  if (!existsSync(IN_MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(IN_MEMORY);
  return bavail * bsize > MIN_FREE_BYTES ? IN_MEMORY : tmpdir();
}

/** Test files of this schema find it here, those of other schemas under another name. */
const TEMPLATES = fileURLToPath(new URL('../../../node_modules/.cache/test-clusters', import.meta.url));
/** What a template is made from, besides the programs of PostgreSQL. */
const SOURCES = ['src/db/migrations/**/*', 'src/db/embedded/data-folder.ts', 'bun.lock'];

/** The migrated, empty database of every template. */
export const MIGRATED = 'template_migrated';

/**
 * Puts a stopped cluster with the database {@link MIGRATED} into a folder. Making one takes several times as long as
 * copying it, and every test file needs one: it is made when there is none of this schema.
 */
export async function copyClusterTemplate(dataDir: string): Promise<void> {
  const template = join(TEMPLATES, await nameTemplate());
  if (!existsSync(template)) await makeTemplate(template);
  await Bun.$`cp -a ${template}/. ${dataDir}`;
}

/** Processes that make one at the same time do not wait for one another: the first one is kept. */
async function makeTemplate(template: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'community-api-test-'));
  const embedded = await startEmbeddedPostgres({ dataDir, log, settings: ['fsync=off'] });
  await runOnServer(embedded.url, `create database ${MIGRATED}`);
  await migrateDatabase(nameDatabase(embedded.url, MIGRATED));
  await embedded.stop();

  const copy = `${template}.${process.pid}`;
  await mkdir(TEMPLATES, { recursive: true });
  await Bun.$`cp -a ${dataDir} ${copy}`;
  await rm(dataDir, { recursive: true });
  await rename(copy, template).catch(() => rm(copy, { recursive: true }));
  const isOfOtherSchema = (name: string) => !name.startsWith(basename(template));
  for (const name of (await readdir(TEMPLATES)).filter(isOfOtherSchema)) {
    await rm(join(TEMPLATES, name), { recursive: true, force: true });
  }
}

async function nameTemplate(): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256');
  hasher.update(`${process.platform} ${process.arch} ${process.getuid?.()}`);
  const cwd = fileURLToPath(new URL('../../..', import.meta.url));
  for (const source of SOURCES) {
    for (const file of [...new Glob(source).scanSync({ cwd })].sort()) {
      hasher.update(`${file}\n`).update(await readFile(join(cwd, file)));
    }
  }
  return hasher.digest('hex').slice(0, 16);
}
