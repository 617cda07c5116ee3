import { expect, test } from 'bun:test';
import { FORMAT, FORMAT_VERSION, parseManifest } from '../../../src/backup/manifest.ts';

const MANIFEST = {
  format: FORMAT,
  formatVersion: FORMAT_VERSION,
  takenAt: '2026-11-21T12:00:00+00:00',
  productVersion: '0.1.0',
  postgresVersion: '18.0',
  migrations: ['ab'.repeat(32)],
  tables: [{ name: 'users', rows: 1 }],
  sequences: [{ name: 'users_id_seq', lastValue: '1', isCalled: true }],
  entries: [{ name: 'tables/users/000001.ndjson', sizeBytes: 2, sha256: 'ab'.repeat(32) }],
};
const parse = (manifest: object) =>
  parseManifest(Buffer.from(JSON.stringify(manifest)), { file: 'x.tar.gz', entries: 1 });

test('a manifest is read as it was written', () => {
  expect(parse(MANIFEST)).toEqual(MANIFEST as ReturnType<typeof parse>);
});

test.each<[string, object]>([
  ['without a time', { takenAt: undefined }],
  ['of no time', { takenAt: 'never' }],
  ['without migrations', { migrations: undefined }],
  ['without tables', { tables: {} }],
  ['without sequences', { sequences: null }],
  ['with an entry that is none', { entries: [null] }],
  ['with a number as entry', { entries: [5] }],
  ['with a list as sequence', { sequences: [['a']] }],
  ['with a hash that is none', { entries: [{ ...MANIFEST.entries[0], sha256: '../..' }] }],
  ['with a table that is none', { tables: [{ name: 'users"; drop table users; --', rows: 1 }] }],
])('a manifest %s is refused in one line', (_, changes) => {
  expect(() => parse({ ...MANIFEST, ...changes })).toThrow(
    'x.tar.gz was altered: its manifest is not complete',
  );
});
