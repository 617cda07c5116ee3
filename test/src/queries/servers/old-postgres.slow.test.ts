import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { inTransaction } from '../../../../src/db/client.ts';
import { openDatabase } from '../../../../src/db/database.ts';
import { migrateDatabase } from '../../../../src/db/migrate.ts';
import { downsampleHistory } from '../../../../src/queries/servers/samples.ts';
import { SYSTEM_VERSIONS, startSystemPostgres } from '../../../support/database/system-postgres.ts';

test.skipIf(SYSTEM_VERSIONS.length === 0)(
  'an older PostgreSQL finds old samples and maps without reading the newer ones',
  async () => {
    const { url } = await startSystemPostgres();
    await migrateDatabase(url);
    const { db, close } = openDatabase(url);
    await db.execute(sql`
      insert into servers (slug, name, address) select 's' || i, 's', '10.0.0.1:' || i from generate_series(1, 10) as i`);
    const times = sql`servers, generate_series(1, 5000) as i,
      lateral (select date_trunc('hour', now()) - interval '366 days' + i * interval '1 hour' as at) as polled`;
    await db.execute(sql`
      insert into server_samples (server_id, sampled_at, period_seconds, players_average, players_maximum, max_players, online_share)
      select id, at, 3600, 1, 1, 10, 1 from ${times}`);
    await db.execute(sql`
      insert into server_map_periods (server_id, map, started_at, ended_at)
      select id, 'de_nuke', at, at from ${times}`);
    await db.execute(sql`analyze`);
    const read = await inTransaction(db, async (tx) => {
      await downsampleHistory(tx);
      return tx.execute(sql`
        select relname as name, seq_tup_read::int as read, n_tup_del::int as deleted from pg_stat_xact_user_tables
        where relname in ('server_samples', 'server_map_periods') order by relname`);
    });
    expect([...read]).toEqual([
      { name: 'server_map_periods', read: 0, deleted: 240 },
      { name: 'server_samples', read: 0, deleted: 240 },
    ]);
    await close();
  },
);
