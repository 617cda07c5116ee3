import { existsSync, mkdtempSync } from 'node:fs';
import { mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Glob } from 'bun';
import pino from 'pino';
import { connect } from '../../../src/db/client.ts';
import { startEmbeddedPostgres } from '../../../src/db/embedded/cluster.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';

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
  const embedded = await startEmbeddedPostgres({
    dataDir,
    log: pino({ level: 'silent' }),
    settings: ['fsync=off'],
  });
  const connection = connect(embedded.url, { max: 1 });
  await connection.unsafe(`create database ${MIGRATED}`);
  await connection.end();
  const url = new URL(embedded.url);
  url.pathname = `/${MIGRATED}`;
  await migrateDatabase(url.href);
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
