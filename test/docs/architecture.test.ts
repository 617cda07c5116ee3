import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { SYSTEMS } from '../../src/domain/systems.ts';

const page = await Bun.file('docs/architecture.md').text();
const paths = [...new Glob('{src,api,bot,media,test}/**/*').scanSync('.'), 'package.json'];
const code = new Map(
  await Promise.all(
    paths
      .filter((path) => /^(src|api|bot|media)\/.*\.(tsx?|sql)$/.test(path))
      .map(async (path) => [path, await Bun.file(path).text()] as const),
  ),
);
const words = new Set([...code.values()].flatMap((text) => text.match(/\w+/g) ?? []));

/** The rows of the table below a heading, without its head. */
function rowsBelow(heading: string): string[][] {
  const [, section = ''] = page.split(`## ${heading}\n`);
  const lines = section.split('\n## ')[0]?.match(/^\|.*\|$/gm) ?? [];
  return lines.slice(2).map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  );
}

const namesIn = (text = '') => [...text.matchAll(/`([^`\n]+)`/g)].map(([, name = '']) => name);

/** Addresses, patterns of names, SQL, and parts with composed names, which have a test of their own. */
const NO_NAMES = /^(\/|GET |verbNoun\(|for update |mirror_)/;

test('the page on the architecture names only files, folders, functions, tables and settings that exist', () => {
  const names = namesIn(page).filter((name) => !NO_NAMES.test(name));
  const isThere = (name: string) => {
    const path = name.replace(/\/$/, '');
    if (/[./]/.test(name)) return paths.some((each) => `/${each}/`.includes(`/${path}/`));
    return (name.match(/\w+/g) ?? []).every(
      (word) => words.has(word) || paths.some((each) => `/${each}`.includes(`/${word}/`)),
    );
  };
  expect(names.length).toBeGreaterThan(100);
  expect(names.filter((name) => !isThere(name))).toEqual([]);
});

/** Where each limit of the table stands, as the code writes it. */
const LIMITS: Record<string, [value: string, ...places: [file: string, text: string][]]> = {
  'a request, interaction or page': ['4 s', ['src/runtime/request.ts', 'REQUEST_LIMIT_MS = 4000']],
  'a statement for it': ['3.5 s', ['src/db/database.ts', 'REQUEST_STATEMENT_MS = 3500']],
  'a read on a replica': ['2 s', ['src/db/replicas.ts', 'READ_LIMIT_MS = 2000']],
  'an interaction is deferred': ['after 1.5 s', ['bot/timings.ts', 'deferAfterMs: 1500']],
  'a statement in the background': [
    '15 s; of mirrors 60 s',
    ['src/db/client.ts', 'STATEMENT_TIMEOUT_MS = 15_000'],
    ['src/import/source/mysql.ts', 'QUERY_TIMEOUT_MS = 60_000'],
  ],
  'a lock for a request': ['1 s', ['src/db/connection/pool.ts', "lock_timeout = '1s'"]],
  'a loop waits for writers of penalties': ['2 s', ['src/db/locks.ts', "lock_timeout = '2s'"]],
  'a migration waits for a lock': [
    '0.8 s, then 0.1 s',
    ['src/db/migrations/0006', "lock_timeout = '800ms'"],
    ['src/db/migrations/0006', "lock_timeout = '100ms'"],
  ],
  'a silent connection is ended': ['1.5 s later', ['src/db/client.ts', 'RESPONSE_MS = 1500']],
  'an export waits for the database': [
    '30 s',
    ['api/http/export-streams.ts', 'DATABASE_LIMIT_MS = 30_000'],
    ['src/db/snapshot.ts', "idle_in_transaction_session_timeout = '60s'"],
  ],
  'a leader without the database': ['gives up after 5 s', ['src/db/leader.ts', 'OUTAGE_MS = 5000']],
  'a leader that hangs': [
    'replaced within 15 s',
    ['src/db/leader.ts', 'HEARTBEAT_MS = 3000'],
    ['src/db/leader.ts', "idle_session_timeout = '10s'"],
    ['src/db/leader.ts', 'everyMs = 1000'],
  ],
  'a part of the process that stops': [
    '3 s',
    ['src/runtime/shutdown.ts', 'PART_LIMIT_MS = 3000'],
    ['src/runtime/shutdown.ts', 'TOTAL_LIMIT_MS = 4800'],
  ],
  'a poll': [
    '1 to 3 s a server',
    ['src/poll/poller.ts', 'MIN_TIMEOUT_MS = 1000'],
    ['src/poll/poller.ts', 'MAX_TIMEOUT_MS = 3000'],
  ],
  'a command to Redis': [
    '50 ms',
    ['api/http/limits/redis-limits.ts', 'COMMAND_LIMIT_MS = 50'],
    ['api/http/limits/redis-limits.ts', 'PAUSE_MS = 1000'],
  ],
  'a claim of a sound': [
    'an hour',
    ['src/queries/round-sounds/round-sound-queue.ts', 'MAX_CLAIM_MS = 60 * 60_000'],
    ['src/domain/round-sound.ts', 'RENDER_TIMEOUT_SECONDS = 30'],
  ],
};

test('the table of limits that act on each other has the values of the code', () => {
  const limits = Object.entries(LIMITS);
  expect(rowsBelow('Limits that act on each other').map(([limit, value]) => [limit, value])).toEqual(
    limits.map(([limit, [value]]) => [limit, value]),
  );
  const differing = limits.flatMap(([limit, [, ...places]]) =>
    places
      .filter(
        ([file, text]) => ![...code].some(([path, each]) => path.startsWith(file) && each.includes(text)),
      )
      .map((place) => [limit, ...place]),
  );
  expect(differing).toEqual([]);
});

test('the table of notifications has those that the code listens to', () => {
  const listened = [...code.values()].flatMap((text) =>
    [...text.matchAll(/changes\.onChange\('(\w+)'/g)].map(([, table = '']) => table),
  );
  const described = rowsBelow('Notifications').flatMap(([payload]) => namesIn(payload));
  expect(described.sort()).toEqual([...new Set(listened)].sort());
});

test('the page on the architecture names each part that runs in one process at a time', () => {
  const [, section = ''] = page.split('## Who leads what\n');
  const [paragraph = ''] = section.trim().split('The leader is');
  const [, union = ''] = /export type Part =([^;]+);/.exec(code.get('src/db/leader.ts') ?? '') ?? [];
  const parts = [...union.matchAll(/'(\w+)'/g)].map(([, part = '']) => part);
  const mirrors = Object.keys(SYSTEMS).map((name) => `mirror_${name}`);
  expect(namesIn(paragraph).sort()).toEqual([...parts, ...mirrors].sort());
});
