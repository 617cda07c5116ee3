import { Database as SqliteDatabase } from 'bun:sqlite';
import { afterAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { asc, eq } from 'drizzle-orm';
import pino from 'pino';
import { erasedPeople } from '../../../src/db/schema/accounts.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import { createMirror } from '../../../src/import/mirror.ts';
import { importNdjson } from '../../../src/import/ndjson/ndjson.ts';
import { createMirrorMetrics } from '../../../src/import/rounds.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import { erasePerson } from '../../../src/queries/personal-data/erasure.ts';
import { createMetrics } from '../../../src/runtime/metrics.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { findTraces } from '../../support/database/traces.ts';
import { importIks, importSourcebans } from '../../support/import/importers.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../support/import/mariadb.ts';
import { importDeps } from '../../support/import/penalty-rows.ts';
import { simpleAdminMysqlSchema, simpleAdminSqliteSchema } from '../../support/import/simple-admin-schema.ts';
import { sourcebansSchema } from '../../support/import/sourcebans-schema.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

setDefaultTimeout(60_000);

const database = await createTestDatabase();
const { db, connection } = database;
const folder = createTestFolder();
afterAll(folder.remove);
const deps = importDeps(database);
const SECONDS = Date.parse('2026-11-21T12:00:00Z') / 1000;

/** The erased person's SteamID, as SteamID64 and in the notation of SourceBans++. */
const ID = '76561198000000003';
const STEAM2 = 'STEAM_0:1:19867137';
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
type Source = { add: () => Promise<void>; change: () => Promise<void>; read: () => Promise<unknown> };

const OPENERS: Record<string, () => Promise<Source>> = {
  'the mirror of SimpleAdmin': async () => {
    const source = await createTestMariaDb();
    await source.run(simpleAdminMysqlSchema({ migration: 11 }));
    const insert = (values: string) =>
      source.run(`insert into sa_bans (player_steamid, player_name, admin_steamid, admin_name, reason, duration, created, ends)
        values ${values}`);
    const times = `60, '2026-11-21 11:30:00', '2026-11-21 12:30:00'`;
    return {
      add: () => insert(`('${ID}', '${NAME}', '0', 'Console', 'Aim', ${times})`),
      change: async () => {
        await source.run("update sa_bans set reason = 'Wallhack'");
        await insert(
          `('${ID}', '${NAME}', '0', 'Console', 'Again', ${times}), ('${OTHER}', 'Other', '${ID}', '${NAME}', 'Given', ${times})`,
        );
      },
      read: () => readMirror(source.url),
    };
  },
  'IKS Admin': async () => {
    const source = await createTestMariaDb();
    await source.run(`
      create table iks_servers (id int not null unique, ip varchar(32) not null, name varchar(255) not null, rcon varchar(128));
      create table iks_admins (id int not null auto_increment primary key, steam_id varchar(17) not null, name varchar(64) not null);
      insert into iks_admins (steam_id, name) values ('CONSOLE', 'CONSOLE'), ('${ID}', '${NAME}');
      create table iks_bans (id int not null auto_increment primary key, steam_id bigint, ban_type tinyint not null default 0,
        ip varchar(32), name varchar(128), duration int not null, reason varchar(128) not null, server_id int default null,
        admin_id int not null, unbanned_by int default null, unban_reason varchar(128) default null, created_at int not null,
        end_at int not null, updated_at int not null, deleted_at int default null);
      create table iks_comms like iks_bans;
      alter table iks_comms change ban_type mute_type int not null default 0;`);
    const insert = (values: string) =>
      source.run(
        `insert into iks_bans (steam_id, name, admin_id, reason, duration, created_at, end_at, updated_at) values ${values}`,
      );
    const times = `3600, ${SECONDS - 1800}, ${SECONDS + 1800}, ${SECONDS}`;
    return {
      add: () => insert(`(${ID}, '${NAME}', 1, 'Aim', ${times})`),
      change: async () => {
        await source.run("update iks_bans set reason = 'Wallhack'");
        await insert(`(${ID}, '${NAME}', 1, 'Again', ${times}), (${OTHER}, 'Other', 2, 'Given', ${times})`);
      },
      read: () => importIks(deps, { url: source.url }),
    };
  },
  'SourceBans++': async () => {
    const source = await createTestMariaDb();
    await source.run(sourcebansSchema('sb_', '1.8'));
    await source.run(`insert into sb_admins (user, authid) values ('${NAME}', '${STEAM2}')`);
    const insert = (values: string) =>
      source.run(`insert into sb_bans (authid, name, aid, reason, length, created, ends) values ${values}`);
    const times = `3600, ${SECONDS - 1800}, ${SECONDS + 1800}`;
    return {
      add: () => insert(`('${STEAM2}', '${NAME}', 0, 'Aim', ${times})`),
      change: async () => {
        await source.run("update sb_bans set reason = 'Wallhack'");
        await insert(
          `('${STEAM2}', '${NAME}', 0, 'Again', ${times}), ('STEAM_0:1:19867138', 'Other', 1, 'Given', ${times})`,
        );
      },
      read: () => importSourcebans(deps, { url: source.url, prefix: 'sb_' }),
    };
  },
  'JSON lines': async () => createNdjson(),
};

function createNdjson(): Source & { read: () => ReturnType<typeof importNdjson> } {
  const line = (values: object) =>
    JSON.stringify({ penalty_type: 'ban', created: '2026-11-21T11:30:00Z', duration: 0, ...values });
  const of = { player_steamid: ID, player_name: NAME };
  let file = '';
  return {
    add: async () => {
      file = line({ source_id: '1', ...of, reason: 'Aim' });
    },
    change: async () => {
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

describe.if(await isMariaDbAtHand())('rows of somebody whose penalties were erased', () => {
  test.each(Object.keys(OPENERS))(
    'are kept without the person when they come again from %s',
    async (kind) => {
      const source = await OPENERS[kind]?.();
      await source?.add();
      await source?.read();
      expect(await list()).toMatchObject([{ player: ID, playerName: NAME, reason: 'Aim' }]);
      await erase();
      expect(await traces()).toEqual([]);
      const anonymous = { player: '0', playerName: '' };

      await source?.read();
      expect(await list()).toMatchObject([{ ...anonymous, reason: 'Aim' }]);

      await source?.change();
      await source?.read();
      expect(await list()).toMatchObject([
        { ...anonymous, reason: 'Wallhack' },
        { ...anonymous, reason: 'Again' },
        { player: OTHER, admin: '0', adminName: 'Former admin', reason: 'Given' },
      ]);
      expect(await traces()).toEqual([]);
    },
  );
});

describe('when the erasure secret is lost', () => {
  test('an import says how many are not recognised, and takes them out again once it is back', async () => {
    const source = createNdjson();
    await source.add();
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
    await source.add();
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
    const path = `${folder.path}/lost.sqlite`;
    const file = new SqliteDatabase(path);
    file.run(simpleAdminSqliteSchema({ migration: 11 }));
    file.close();
    await erase();
    await db.delete(settings);
    await readMirror(`sqlite:${path}`);
    const told = lines.filter(({ lostErasures }) => lostErasures !== undefined);
    expect(told).toMatchObject([{ level: 50, lostErasures: 1, msg: expect.stringContaining('is lost') }]);
  });
});
