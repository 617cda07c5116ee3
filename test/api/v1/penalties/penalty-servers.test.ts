import { expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { penalties } from '../../../../src/db/schema/penalties.ts';
import { insertPenalties, insertServer } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { aToken, bearer, startTestService } from '../../../support/service/service.ts';

const { db, url } = await createTestDatabase();
const service = await startTestService({ databaseUrl: url });
const { token } = await aToken(db, 900);
const { token: other } = await aToken(db, 901, { scopes: ['servers', 'lookup', 'events'] });

test('GET /penalties/servers lists every server that a penalty names, hidden and unknown ones too', async () => {
  const shown = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
  const hidden = await insertServer(db, { slug: 'hidden', name: 'Żółć', isHidden: true });
  const spared = await insertServer(db, { slug: 'spared' });
  await insertPenalties(db, [
    { serverId: hidden.id },
    { serverId: shown.id, type: 'warn', status: 'EXPIRED' },
    { serverId: shown.id, type: 'gag', status: 'UNBANNED', goneAt: new Date() },
    { serverId: 0 },
    { serverId: 4211 },
    { serverId: spared.id, reason: 'gone' },
  ]);
  await db.delete(penalties).where(eq(penalties.reason, 'gone'));
  const { status, body } = await service.get('/penalties/servers', bearer(token));
  expect([status, body]).toStrictEqual([
    200,
    {
      success: true,
      data: [
        { id: shown.id, name: 'Only Mirage #1', slug: 'only-mirage-1', penalties: 2 },
        { id: hidden.id, name: 'Żółć', slug: null, penalties: 1 },
        { id: 4211, name: null, slug: null, penalties: 1 },
      ],
    },
  ]);
});

test('GET /penalties/servers needs a token with the scope penalties', async () => {
  expect((await service.get('/penalties/servers')).status).toBe(401);
  const { status, body } = await service.get('/penalties/servers', bearer(other));
  expect([status, body]).toEqual([
    403,
    { success: false, message: 'This token lacks the scope "penalties"' },
  ]);
});
