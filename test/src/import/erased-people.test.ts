import { beforeEach, describe, expect, test } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import pino from 'pino';
import { erasedPeople } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import { createMirror } from '../../../src/import/mirror.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import { createMirrorMetrics } from '../../../src/mirror/rounds.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { findTraces } from '../../support/database/traces.ts';
import { importDeps } from '../../support/import/penalty-rows.ts';
import { createSourceFiles, editSource } from '../../support/import/source-file.ts';
import { type Admin, SYSTEMS, type TestSystem } from '../../support/import/systems.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const { db, connection } = database;
const createFile = createSourceFiles();
const deps = importDeps(database);
const SIMPLE_ADMIN = SYSTEMS['CS2-SimpleAdmin'] ?? expect.unreachable();

/** The erased person. */
const ID = '76561198000000003';
const NAME = 'Wymazany';
const OTHER = '76561198000000005';

let lines: { level: number; msg: string; lostErasures?: number }[] = [];
beforeEach(async () => {
  await connection`truncate penalties, penalty_events, servers, server_aliases, penalty_sources, settings, erased_people, audit_log cascade`;
  lines = [];
});

const erase = () =>
  erasePerson(db, ID as never, { withPenalties: true, actor: 'operator', removeSounds: async () => {} });
const traces = () => findTraces(connection, [], [ID, NAME]);
const list = () =>
  db
    .select({
      player: penalties.playerSteamId,
      playerName: penalties.playerName,
      admin: penalties.adminSteamId,
      adminName: penalties.adminName,
      reason: penalties.reason,
    })
    .from(penalties)
    .orderBy(asc(penalties.id));

/** A source with one penalty of the person. Later its reason changes, and two are added: one of theirs, one they gave. */
type Source = { add: () => void; change: () => void; read: () => Promise<unknown> };

const PERSON: Admin = { id: 3, name: NAME, steamId: ID };

/** A system's database, read by an import. */
function createSystem({ schema, tables, addAdmin, add, run }: TestSystem): Source & { url: string } {
  const url = createFile(`${schema}; ${addAdmin(PERSON)}`);
  const theirs = { player: ID, playerName: NAME };
  return {
    url,
    add: () => editSource(url, add('ban', { id: 1, ...theirs, reason: 'Aim' })),
    change: () => {
      const given = { player: OTHER, playerName: 'Other', admin: PERSON, reason: 'Given' };
      editSource(
        url,
        `update ${tables.ban} set reason = 'Wallhack'; ${add('ban', { id: 2, ...theirs, reason: 'Again' })}
         ${add('ban', { id: 3, ...given })}`,
      );
    },
    read: () => run(deps, { url }),
  };
}

const SOURCES: Record<string, () => Source> = {
  ...Object.fromEntries(Object.entries(SYSTEMS).map(([name, system]) => [name, () => createSystem(system)])),
  'the mirror of CS2-SimpleAdmin': () => {
    const source = createSystem(SIMPLE_ADMIN);
    return { ...source, read: () => readMirror(source.url) };
  },
  'lines of JSON': createNdjson,
};

function createNdjson(): Source & { read: () => ReturnType<typeof importNdjson> } {
  const line = (values: object) =>
    JSON.stringify({ penalty_type: 'ban', created: '2026-11-21T11:30:00Z', duration: 0, ...values });
  const of = { player_steamid: ID, player_name: NAME };
  let file = '';
  return {
    add: () => {
      file = line({ source_id: '1', ...of, reason: 'Aim' });
    },
    change: () => {
      const given = { player_steamid: OTHER, player_name: 'Other', admin_steamid: ID, admin_name: NAME };
      file = [
        line({ source_id: '1', ...of, reason: 'Wallhack' }),
        line({ source_id: '2', ...of, reason: 'Again' }),
        line({ source_id: '3', ...given, reason: 'Given' }),
      ].join('\n');
    },
    read: () => importNdjson(deps, { chunks: new Blob([file]).stream() }),
  };
}

/** Two rounds of a mirror, which is then stopped. */
async function readMirror(url: string): Promise<void> {
  let now = new Date('2026-11-21T12:00:00Z');
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const mirror = createMirror(
    {
      db,
      databaseUrl: database.url,
      log,
      metrics: createMirrorMetrics(createMetrics()),
      now: () => now,
    },
    simpleAdminSystem({}),
    { url, source: 'simpleadmin', intervalSeconds: 0.02 },
  );
  const stopping = new AbortController();
  const ended = mirror.lead(stopping.signal);
  try {
    for (const _ of [1, 2]) {
      now = new Date(now.getTime() + 1000);
      const asked = now;
      await waitFor(() => (mirror.health().lastRoundAt ?? new Date(0)) >= asked, { limitMs: 30_000 });
    }
  } finally {
    stopping.abort();
    await ended;
  }
}

test.each(Object.entries(SOURCES))(
  'rows of somebody whose penalties were erased are kept without them when %s has them again',
  async (_, open) => {
    const source = open();
    source.add();
    await source.read();
    expect(await list()).toMatchObject([{ player: ID, playerName: NAME, reason: 'Aim' }]);
    await erase();
    expect(await traces()).toEqual([]);
    const anonymous = { player: '0', playerName: '' };

    await source.read();
    expect(await list()).toMatchObject([{ ...anonymous, reason: 'Aim' }]);

    source.change();
    await source.read();
    expect(await list()).toMatchObject([
      { ...anonymous, reason: 'Wallhack' },
      { ...anonymous, reason: 'Again' },
      { player: OTHER, admin: '0', adminName: 'Former admin', reason: 'Given' },
    ]);
    expect(await traces()).toEqual([]);
  },
);

describe('when the erasure secret is lost', () => {
  test('an import says how many are not recognised, and takes them out again once it is back', async () => {
    const source = createNdjson();
    source.add();
    expect(await source.read()).toMatchObject({ lostErasures: 0 });
    await erase();
    expect(await source.read()).toMatchObject({ lostErasures: 0, changed: 0 });

    const [secret] = await db.delete(settings).where(eq(settings.key, 'erasure_secret')).returning();
    expect(await source.read()).toMatchObject({ lostErasures: 1, changed: 1 });
    expect(await list()).toMatchObject([{ player: ID }]);

    if (secret) await db.insert(settings).values(secret);
    expect(await source.read()).toMatchObject({ lostErasures: 0, changed: 1 });
    expect(await list()).toMatchObject([{ player: '0', playerName: '' }]);
  });

  test('erasing them once more makes them unknown again; what nobody can read any more may be forgotten', async () => {
    const source = createNdjson();
    source.add();
    await source.read();
    await erase();
    await db.delete(settings);
    await source.read();
    await erase();
    expect(await source.read()).toMatchObject({ lostErasures: 1, changed: 0 });
    expect(await list()).toMatchObject([{ player: '0' }]);
    const page = await Bun.file('docs/privacy.md').text();
    const [, statement = ''] = /```sql\n(delete from erased_people[^`]*)```/.exec(page) ?? [];
    await connection.unsafe(statement);
    expect(await source.read()).toMatchObject({ lostErasures: 0 });
    expect(await db.select().from(erasedPeople)).toHaveLength(1);
  });

  test('the mirror logs it once', async () => {
    const { url } = createSystem(SIMPLE_ADMIN);
    await erase();
    await db.delete(settings);
    await readMirror(url);
    const told = lines.filter(({ lostErasures }) => lostErasures !== undefined);
    expect(told).toMatchObject([{ level: 50, lostErasures: 1, msg: expect.stringContaining('is lost') }]);
  });
});
