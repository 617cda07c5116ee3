import { expect, test } from 'bun:test';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canEnter } from '../../../../src/db/embedded/account.ts';
import { createTestFolder } from '../../../support/service/program.ts';

test('an account may enter a folder only if it may enter every one above it', async () => {
  const above = createTestFolder();
  const folder = join(above, 'data');
  await mkdir(folder);
  const owner = { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };
  const stranger = { uid: 4_000_000, gid: 4_000_000 };
  await chmod(above, 0o711);
  expect([canEnter(owner, folder), canEnter(stranger, folder)]).toEqual([true, true]);
  await chmod(above, 0o700);
  expect([canEnter(owner, folder), canEnter(stranger, folder)]).toEqual([true, false]);
});
