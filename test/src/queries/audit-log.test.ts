import { expect, test } from 'bun:test';
import { Glob } from 'bun';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import { createApiToken, revokeApiToken } from '../../../src/queries/users/api-tokens.ts';
import { insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db } = await createTestDatabase();

test('creating and revoking a token leave one entry each, and revoking it twice leaves no second one', async () => {
  const user = await insertUser(db, 1);
  const now = new Date();
  const { id } = await createApiToken(db, user.id, { name: ' Website ', now, actor: 'operator' });
  await revokeApiToken(db, id, { now, actor: { userId: user.id } });
  await revokeApiToken(db, id, { now, actor: { userId: user.id } });
  expect(await listAuditEntries(db)).toMatchObject([
    {
      action: 'token.revoked',
      subject: user.steamId64,
      details: { tokenId: id, name: 'Website' },
      actor: { steamId64: user.steamId64, nickname: 'Player 1' },
    },
    { action: 'token.created', subject: user.steamId64, actor: undefined },
  ]);
});

test('a change that fails leaves no entry', async () => {
  const before = await listAuditEntries(db);
  await expect(createApiToken(db, 1, { name: '', now: new Date(), actor: 'operator' })).rejects.toThrow();
  await expect(revokeApiToken(db, 999, { now: new Date(), actor: 'operator' })).rejects.toThrow();
  expect(await listAuditEntries(db)).toEqual(before);
});

test('only queries write entries, so that no caller can forget one', async () => {
  const strangers: string[] = [];
  for (const file of new Glob('{src,api,bot,media}/**/*.{ts,tsx}').scanSync('.')) {
    if (file.startsWith('src/queries/')) continue;
    if (/recordAudit|insert\(auditLog\)/.test(await Bun.file(file).text())) strangers.push(file);
  }
  expect(strangers).toEqual([]);
});
