import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { readWhole, runImport } from '../../../src/import/import-run.ts';
import { parseNdjsonLine } from '../../../src/import/ndjson/rows.ts';
import { writeImportedPage } from '../../../src/queries/penalties/imported.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import { importDeps, LINE } from '../../support/import/penalty-rows.ts';

const database = await createTestDatabase();
const { connection } = database;
const deps = importDeps(database);
const proxy = await startDatabaseProxy(database.url);
const source = { name: 'many', kind: 'ndjson', address: '', prefix: '' } as const;

test('a write on a connection that fell silent ends once its process no longer leads', async () => {
  const leading = new AbortController();
  const importing = runImport(
    { ...deps, databaseUrl: proxy.url },
    source,
    { waits: false, signal: leading.signal },
    async (run) => {
      proxy.freeze();
      const marking = readWhole(run, ['ban'], async () => {});
      leading.abort();
      await marking;
    },
  );
  await expect(importing).rejects.toThrow();
});

test('the session of an import ends within three minutes of the death of its machine', async () => {
  await runImport(deps, source, {}, async ({ session }) => {
    const [limits] = await session.execute(sql`select current_setting('tcp_keepalives_idle')::integer as idle,
      current_setting('tcp_keepalives_interval')::integer * current_setting('tcp_keepalives_count')::integer as probes,
      current_setting('tcp_user_timeout') as "userTimeout"`);
    expect(limits).toEqual({ idle: 60, probes: 60, userTimeout: '120000' });
  });
});

test('every row that an import has not seen is marked as gone, however many there are', async () => {
  // Events and totals of so many rows take most of a minute, and are no part of this.
  await connection`alter table penalties disable trigger user`;
  await connection`
    insert into penalties (source, source_table, source_id, type, status, player_name, player_steamid, admin_name,
      admin_steamid, reason, duration_minutes, server_id, created_at)
    select 'many', 'ban', n, 'ban', 'UNBANNED', 'Gracz', 76561198000000001, 'Console', 0, 'Aim', 0, 0, now()
    from generate_series(1, 100_010) as n`;
  const run = (isDryRun: boolean) =>
    runImport(deps, source, { isDryRun, acceptsRemovals: true }, (importRun) =>
      readWhole(importRun, ['ban'], async ({ session, isFullRead }) => {
        // The session keeps the plans of its first update: here of one that changes nothing.
        const rows = [parseNdjsonLine(JSON.stringify({ ...LINE, source_id: 'new' }), () => {})];
        const unreadable = [1, 100_005].map((id) => ({
          ...{ sourceTable: 'ban', sourceId: String(id) },
          ...{ playerSteamId: UNKNOWN_STEAM_ID, playerName: '', reason: '' },
        }));
        const listRowless = async () => new Set<string>();
        const page = { rows, merged: [], unreadable };
        await writeImportedPage(session, 'many', page, { isDryRun, isFullRead, listRowless });
      }),
    );
  const unseen = async () =>
    (await connection`select source_id from penalties where source = 'many' and gone_at is null`).map(
      (row) => row.source_id,
    );

  expect(await run(true)).toMatchObject({ gone: 100_008 });
  expect(await unseen()).toHaveLength(100_010);
  expect(await run(false)).toMatchObject({ gone: 100_008 });
  expect((await unseen()).toSorted()).toEqual(['1', '100005', 'new']);
});
