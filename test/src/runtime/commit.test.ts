import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { findCommit } from '../../../src/runtime/commit.ts';
import { createTestFolder } from '../../support/service/program.ts';

const folder = createTestFolder();
const COMMIT = '694155d4a7733435c99f0b6a1f2d3e4c5b6a7988';
const OTHER = 'ffffffffffffffffffffffffffffffffffffffff';

test.each([
  ['the file of an image', { COMMIT: `${COMMIT}\n`, '.git/HEAD': OTHER }],
  [
    'a branch',
    { COMMIT: '\n', '.git/HEAD': 'ref: refs/heads/main\n', '.git/refs/heads/main': `${COMMIT}\n` },
  ],
  [
    'a packed branch',
    {
      '.git/HEAD': 'ref: refs/heads/main\n',
      '.git/packed-refs': `# pack-refs\n${OTHER} refs/heads/a/refs/heads/main\n${COMMIT} refs/heads/main\n`,
    },
  ],
  ['a detached head', { '.git/HEAD': `${COMMIT}\n` }],
])('finds the commit of %s', async (_, files) => {
  const root = join(folder, crypto.randomUUID());
  for (const [name, text] of Object.entries(files)) await Bun.write(join(root, name), text);
  expect(findCommit(root)).toBe(COMMIT.slice(0, 12));
});

test('finds no commit in an archive, or in a repository without commits', async () => {
  const root = join(folder, crypto.randomUUID());
  expect(findCommit(root)).toBeUndefined();
  await Bun.write(join(root, '.git/HEAD'), 'ref: refs/heads/main\n');
  expect(findCommit(root)).toBeUndefined();
});
