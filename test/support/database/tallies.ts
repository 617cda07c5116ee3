import type { Connection } from '../../../src/db/client.ts';

/** Tallies that a recount of the rows contradicts, worked out apart from the triggers; none when all totals are exact. */
export async function tallyDifferences(connection: Connection) {
  const rows = await connection`
    with recount as (
      select t.scope, t.server_id, t.admin_steamid, t.period, t.bucket, p.type, p.status, count(*)::int as n
      from penalties p, lateral (select (p.created_at at time zone 'UTC')::date as day,
        date_trunc('month', p.created_at at time zone 'UTC')::date as month) d,
      lateral (values (0,0,0::bigint,0,date '1970-01-01'), (0,0,0,1,month), (0,0,0,2,day),
        (1,p.server_id,0,0,'1970-01-01'), (1,p.server_id,0,1,month), (1,p.server_id,0,2,day),
        (2,0,p.admin_steamid,0,'1970-01-01'), (2,0,p.admin_steamid,1,month), (2,0,p.admin_steamid,2,day),
        (3,p.server_id,p.admin_steamid,0,'1970-01-01'), (3,p.server_id,p.admin_steamid,1,month)) t(scope, server_id, admin_steamid, period, bucket)
      group by 1,2,3,4,5,6,7
    ), told as (
      select scope, server_id, admin_steamid, period, bucket,
        (enum_range(null::penalty_type))[(slot - 1) / 3 + 1] as type,
        (enum_range(null::penalty_status))[(slot - 1) % 3 + 1] as status, n
      from penalty_tallies, unnest(counts) with ordinality as u(n, slot) where n <> 0
    )
    select * from recount full join told using (scope, server_id, admin_steamid, period, bucket, type, status)
    where recount.n is distinct from told.n order by 1, 2, 3, 4, 5, 6, 7`;
  return [...rows];
}
