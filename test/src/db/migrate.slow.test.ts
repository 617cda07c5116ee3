import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import pino from 'pino';
import { type Connection, connect } from '../../../src/db/client.ts';
import { LOCKS } from '../../../src/db/locks.ts';
import { MIGRATION_HASHES, migrateDatabase } from '../../../src/db/migrate.ts';
import { arrayLiteral } from '../../../src/db/select.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder, runProgram, startProgram } from '../../support/service/program.ts';
import { waitFor } from '../../support/wait.ts';

const database = await createTestDatabase();
const folder = createTestFolder();

/** An empty database for each test, which another process has locked. */
let url: string;
let holder: Connection;
let number = 0;
beforeEach(async () => {
  number += 1;
  const name = `${new URL(database.url).pathname.slice(1)}_empty_${number}`;
  await database.connection.unsafe(`create database ${name}`);
  url = new URL(`/${name}`, database.url).href;
  holder = connect(url, { max: 1, applicationName: 'another process', keepsSession: true });
});
afterEach(async () => {
  await holder.end({ timeout: 0 });
  await database.connection.unsafe(`drop database ${new URL(url).pathname.slice(1)} with (force)`);
});

const hold = () => holder`select pg_advisory_lock(${LOCKS.migration})`;
const release = () => holder`select pg_advisory_unlock_all()`;
const env = () => ({ DATABASE_URL: url, DATA_DIR: folder, STORAGE_DIR: folder, PORT: '0' });

const OTHER_SCHEMA = {
  code: 1,
  stderr:
    'The database has the schema of another program, or of another version before 1.0.0: ' +
    'point DATABASE_URL (or DATA_DIR) at an empty one\n',
};

function aLog() {
  const lines: { msg: string }[] = [];
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  return { log, lines };
}

describe('while another process migrates', () => {
  test('waits for another process that migrates, with one line in the log', async () => {
    await hold();
    const { log, lines } = aLog();
    const migrating = migrateDatabase(url, { log });
    await waitFor(() => lines.length > 0);
    await release();
    await migrating;
    expect(lines).toMatchObject([
      { msg: 'waiting for another process that migrates the database' },
      { msg: 'database migrated', from: 'an empty database', to: expect.stringMatching(/^\d{4}_\w+$/) },
    ]);
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('a service that waits ends with %s', async (signal) => {
    await hold();
    const program = startProgram('src/main.ts', env());
    await program.waitFor('waiting for another process that migrates the database');
    program.kill(signal);
    const status = await program.exited;
    expect([status, program.stderr()]).toEqual([0, '']);
    expect(program.stdout()).toContain('"msg":"stopped"');
  });

  test("the operator's tool waits for a process that migrates, and says so", async () => {
    await hold();
    const program = startProgram('src/cli.ts', env(), ['servers', 'list']);
    await waitFor(() => program.stderr().includes('waiting for another process that migrates the database'));
    program.kill('SIGINT');
    expect([await program.exited, program.stdout()]).toEqual([130, '']);
  });
});

test('a database that is up to date makes nobody wait', async () => {
  await migrateDatabase(url);
  await hold();
  const { log, lines } = aLog();
  await migrateDatabase(url, { log });
  expect(lines).toEqual([]);
});

test('a read-only database is refused, though it is up to date', async () => {
  await migrateDatabase(url);
  const name = new URL(url).pathname.slice(1);
  await database.connection.unsafe(`alter database ${name} set default_transaction_read_only = on`);
  const program = startProgram('src/main.ts', env());
  expect(await program.exited).toBe(1);
  expect(program.stderr()).toMatch(/^The database of DATABASE_URL cannot be used: .*read-only.*\n$/);
});

test('a database that is not UTF8 is refused in one line', async () => {
  const latin = `${new URL(url).pathname.slice(1)}_latin`;
  await database.connection.unsafe(
    `create database ${latin} template template0 encoding 'LATIN1' locale 'C'`,
  );
  try {
    await expect(migrateDatabase(new URL(`/${latin}`, url).href)).rejects.toThrow(
      'The database has the encoding LATIN1',
    );
  } finally {
    await database.connection.unsafe(`drop database ${latin}`);
  }
});

test('refuses a database with tables of another program in one line, and writes nothing', async () => {
  await holder`create table orders (id integer)`;
  expect(await runProgram('src/main.ts', env())).toMatchObject(OTHER_SCHEMA);
  expect(await holder`select from pg_namespace where nspname = 'drizzle'`).toHaveLength(0);
});

test('uses a database in which only an extension has a table', async () => {
  await holder`create extension pg_trgm`;
  await holder`create table spatial_ref_sys (srid integer)`;
  await holder`alter extension pg_trgm add table spatial_ref_sys`;
  await migrateDatabase(url);
});

test('a database with a schema that is named like its user is migrated and used', async () => {
  await holder.unsafe(
    `create schema ${new URL(url).username}; create table ${new URL(url).username}.settings (id int)`,
  );
  await migrateDatabase(url);
  expect(await runProgram('src/cli.ts', env(), ['servers', 'list'])).toMatchObject({ code: 0, stderr: '' });
});

test('refuses a database in which another program has one of our names in one line', async () => {
  await holder`create view settings as select 1 as one`;
  expect(await runProgram('src/main.ts', env())).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(
      /^The database of DATABASE_URL cannot be used: relation "settings" already exists \(.*\)\n$/,
    ),
  });
});

describe('while processes of 1.0.0 use the database', () => {
  const RELEASED_MIGRATIONS = 6;
  const addPenalty = `
    insert into penalties (type, status, player_name, player_steamid, admin_name, admin_steamid, reason, duration_minutes, server_id, created_at)
    values ('ban', 'ACTIVE', 'Gracz', 76561198000000001, 'Admin', 76561198000000002, 'Aim', 0, 1, now())`;
  const lift = "update penalties set status = 'UNBANNED' where status = 'ACTIVE'";

  test.each([
    [
      'an export',
      'begin isolation level repeatable read read only; select max(id) from penalty_events; select from penalties',
      'select from penalty_events; select from penalty_tallies; select from penalties',
    ],
    ['an import', `begin; ${addPenalty}`, `${lift}; ${addPenalty}`],
    ['a sweep', "begin; select pg_advisory_xact_lock(hashtext('penalty_tallies'))", lift],
  ])('%s ends as it would without the migration, which waits for it', async (_, start, rest) => {
    await migrateDatabase(url, { upTo: RELEASED_MIGRATIONS });
    await holder.unsafe(addPenalty);
    const [{ pid } = {}] = await holder`select pg_backend_pid() as pid`;
    await holder.unsafe(start).simple();
    const { log, lines } = aLog();
    const migrating = migrateDatabase(url, { log });
    await waitFor(() => lines.length > 0);
    expect(lines).toMatchObject([
      {
        msg: 'waiting for another session to migrate the database',
        session: { pid, application: expect.stringContaining('another process') },
      },
    ]);
    await holder.unsafe(rest).simple();
    await holder`commit`;
    await migrating;
    expect(lines.slice(1)).toMatchObject([{ msg: 'database migrated', from: '0005_flags' }]);
  });

  test('other sessions read and write without failures while the migration waits for an export', async () => {
    await migrateDatabase(url, { upTo: RELEASED_MIGRATIONS });
    await holder.unsafe('begin isolation level repeatable read read only; select from penalties').simple();
    const others = connect(url, { max: 1 });
    const { log, lines } = aLog();
    let isMigrated = false;
    const migrating = migrateDatabase(url, { log }).finally(() => {
      isMigrated = true;
    });
    let rounds = 0;
    const working = (async () => {
      for (; !isMigrated; rounds++) {
        await others.unsafe(`${addPenalty}; ${lift}`).simple();
        await others.begin(async (tx) => {
          await tx`select pg_advisory_xact_lock(hashtext('penalty_tallies'))`;
          await tx.unsafe(lift);
        });
        await others`select from penalties join penalty_events on penalty_id = penalties.id limit 100`;
      }
    })();
    await waitFor(() => lines.length > 0 && rounds > 50);
    await holder`commit`;
    await Promise.all([migrating, working]);
    await others.end();
    expect(lines.map(({ msg }) => msg)).toEqual([
      'waiting for another session to migrate the database',
      'database migrated',
    ]);
  });

  test('a migration that waits for an export ends with the signal', async () => {
    await migrateDatabase(url, { upTo: RELEASED_MIGRATIONS });
    await holder.unsafe('begin isolation level repeatable read read only; select from penalties').simple();
    const { log, lines } = aLog();
    const stopping = new AbortController();
    const migrating = migrateDatabase(url, { log, signal: stopping.signal });
    await waitFor(() => lines.length > 0);
    stopping.abort(new Error('stopped'));
    await expect(migrating).rejects.toThrow('stopped');
  });
});

describe('a database whose migrations are not those of this version', () => {
  const recordMigrations = async (hashes: readonly string[]) => {
    await holder`create schema drizzle`;
    await holder`create table drizzle.__drizzle_migrations (id serial primary key, hash text not null, created_at bigint)`;
    await holder`
      insert into drizzle.__drizzle_migrations (hash, created_at)
      select hash, place from unnest(${arrayLiteral(hashes)}::text[]) with ordinality as migration(hash, place)`;
  };
  const tables = () => holder`select tablename from pg_tables where schemaname = 'public'`;

  test.each([
    ['another set', ['a', 'b']],
    ['this version, with another first one', ['a', ...MIGRATION_HASHES.slice(1)]],
    ['this version, less its first one', MIGRATION_HASHES.slice(1)],
  ])('a database with foreign migrations is refused in one line and not touched: %s', async (_, hashes) => {
    await recordMigrations(hashes);
    expect(await runProgram('src/main.ts', env())).toMatchObject(OTHER_SCHEMA);
    expect(await runProgram('src/cli.ts', env(), ['servers', 'list'])).toMatchObject(OTHER_SCHEMA);
    expect([...(await tables())]).toEqual([]);
  });

  test('refuses, in one line, a database that an unreleased version migrated', async () => {
    await recordMigrations([...MIGRATION_HASHES.slice(0, 6), 'unreleased']);
    expect(await runProgram('src/main.ts', env())).toMatchObject({
      code: 1,
      stderr:
        'The database was migrated by an unreleased version of this program: restore a backup that 1.0.0 or this version ' +
        'made, or point DATABASE_URL (or DATA_DIR) at an empty one\n',
    });
    expect([...(await tables())]).toEqual([]);
  });

  test('uses a database whose migrations a later version only added to', async () => {
    await recordMigrations([...MIGRATION_HASHES, 'later']);
    await migrateDatabase(url);
    expect([...(await tables())]).toEqual([]);
  });

  test('migrates a database that lacks the last migration', async () => {
    await migrateDatabase(url, { upTo: MIGRATION_HASHES.length - 1 });
    await migrateDatabase(url);
    const applied = await holder`select hash from drizzle.__drizzle_migrations order by id`;
    expect(applied.map(({ hash }) => hash)).toEqual([...MIGRATION_HASHES]);
  });
});
