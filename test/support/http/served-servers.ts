import { servers } from '../../../src/db/schema/servers.ts';
import { addServer } from '../../../src/queries/servers/servers.ts';
import { insertServer, saveServerPoll } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startTestService } from '../service/service.ts';

/**
 * A service with four shown servers and a hidden one, on a database of the test file's own.
 * @returns the servers as they are stored, and in capitals as they are sent.
 */
export async function serveServers() {
  const database = await createTestDatabase();
  const { db } = database;

  const POLLED_AT = new Date('2026-11-21T09:59:57.400Z');
  const online = await addServer(db, {
    name: 'Only Mirage #1',
    address: '203.0.113.7:27015',
    mode: 'Competitive',
    region: 'EU',
    actor: 'operator',
  });
  const twin = await addServer(db, {
    name: 'Only Mirage 1',
    address: '[2001:db8::1]:27015',
    actor: 'operator',
  });
  const offline = await addServer(db, {
    name: 'Zażółć gęślą',
    address: 'play.example.org:27016',
    actor: 'operator',
  });
  // A slug that is a number, the id of another server even.
  const numeric = await addServer(db, {
    name: 'Arena',
    slug: String(online.id),
    address: '203.0.113.7:27017',
    actor: 'operator',
  });
  await insertServer(db, { name: 'Hidden', slug: 'hidden', isHidden: true });

  const state = {
    hostname: 'Only Mirage | 128 tick | 🎯',
    map: 'de_mirage',
    playersCount: 3,
    maxPlayers: 10,
    pingMs: 12,
    players: [
      { name: 'Rzeźnik', score: 17 },
      { name: '<b>Ala</b> "quote" \u202E', score: 0 },
      { name: '玩家', score: -2 },
    ],
  };
  await saveServerPoll(db, online.id, { state, polledAt: POLLED_AT });
  await saveServerPoll(db, offline.id, { state, polledAt: new Date('2026-11-21T09:00:00Z') });
  for (const polledAt of [new Date('2026-11-21T09:00:15Z'), new Date('2026-11-21T09:00:30Z')]) {
    await saveServerPoll(db, offline.id, { state: undefined, polledAt });
  }
  // What was never polled shows when it was added.
  await db.update(servers).set({ createdAt: new Date('2026-11-20T08:00:00Z') });

  const service = await startTestService({ databaseUrl: database.url });

  const ONLINE = {
    id: online.id,
    name: 'Only Mirage #1',
    slug: 'only-mirage-1',
    hostname: 'Only Mirage | 128 tick | 🎯',
    ip: '203.0.113.7:27015',
    map: 'de_mirage',
    mode: 'Competitive',
    region: 'EU',
    players_count: 3,
    max_players: 10,
    is_online: true,
    ping_ms: 12,
    updated_at: '2026-11-21T09:59:57+00:00',
  };
  const NEVER_POLLED = {
    hostname: '',
    map: '',
    mode: '',
    region: '',
    players_count: 0,
    max_players: 0,
    is_online: false,
    ping_ms: 0,
    updated_at: '2026-11-20T08:00:00+00:00',
  };
  const TWIN = {
    ...NEVER_POLLED,
    id: twin.id,
    name: 'Only Mirage 1',
    slug: 'only-mirage-1-2',
    ip: '[2001:db8::1]:27015',
  };
  const NUMERIC = {
    ...NEVER_POLLED,
    id: numeric.id,
    name: 'Arena',
    slug: String(online.id),
    ip: '203.0.113.7:27017',
  };
  const OFFLINE = {
    ...ONLINE,
    id: offline.id,
    name: 'Zażółć gęślą',
    slug: 'zazolc-gesla',
    ip: 'play.example.org:27016',
    mode: '',
    region: '',
    players_count: 0,
    is_online: false,
    ping_ms: 0,
    updated_at: '2026-11-21T09:00:30+00:00',
  };

  return { database, db, service, state, online, twin, offline, numeric, ONLINE, TWIN, OFFLINE, NUMERIC };
}
