import { expect, test } from 'bun:test';
import { serverSnapshots } from '../../../../src/db/schema/servers.ts';
import { setServerHidden } from '../../../../src/queries/servers/servers.ts';
import { insertServer, saveServerPoll } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { db } = await createTestDatabase();

test('a server that is hidden, and polled no more, keeps no names of players', async () => {
  const server = await insertServer(db, { address: '10.0.0.1:27015' });
  const players = [{ name: 'Rzeźnik', score: 7 }];
  const state = { hostname: 'One', map: 'de_mirage', playersCount: 1, maxPlayers: 10, pingMs: 9, players };
  await saveServerPoll(db, server.id, { state, polledAt: new Date('2026-11-21T12:00:00Z') });
  await setServerHidden(db, server.slug, { isHidden: true, actor: 'operator' });
  expect(await db.select().from(serverSnapshots)).toMatchObject([{ players: [] }]);

  await setServerHidden(db, server.slug, { isHidden: false, actor: 'operator' });
  await saveServerPoll(db, server.id, { state, polledAt: new Date('2026-11-21T12:00:15Z') });
  expect(await db.select().from(serverSnapshots)).toMatchObject([{ players }]);
});
