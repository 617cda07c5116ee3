CREATE TABLE "penalty_sources" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"address" text NOT NULL,
	"prefix" text DEFAULT '' NOT NULL
);

--> statement-breakpoint
-- What a set of changes (rows gained or lost) adds to each tally they belong to. A recount is the same of all rows.
CREATE FUNCTION tally_penalty_changes(changes penalty_change[])
RETURNS TABLE (scope smallint, server_id integer, admin_steamid bigint, period smallint, bucket date, counts integer[])
LANGUAGE sql STABLE AS $$
  WITH change AS (
    SELECT c.server_id, c.admin_steamid, c.is_unknown, c.day, date_trunc('month', c.day::timestamp)::date AS month,
      (array_position(enum_range(NULL::penalty_type), c.type) - 1) * 3
        + array_position(enum_range(NULL::penalty_status), c.status) AS slot,
      c.n
    FROM unnest(changes) AS c
  ), grouped AS (
    SELECT t.scope, t.server_id, t.admin_steamid, t.period, t.bucket, change.slot, sum(change.n)::integer AS n
    FROM change CROSS JOIN LATERAL (VALUES
      (0, 0, 0::bigint, 0, date '1970-01-01'), (0, 0, 0, 1, month), (0, 0, 0, 2, day),
      (1, change.server_id, 0, 0, '1970-01-01'), (1, change.server_id, 0, 1, month), (1, change.server_id, 0, 2, day),
      (2, 0, change.admin_steamid, 0, '1970-01-01'), (2, 0, change.admin_steamid, 1, month),
      (2, 0, change.admin_steamid, 2, day),
      (3, change.server_id, change.admin_steamid, 0, '1970-01-01'), (3, change.server_id, change.admin_steamid, 1, month),
      (4, 0, 0, 0, '1970-01-01'), (4, 0, 0, 1, month), (4, 0, 0, 2, day)
    ) AS t(scope, server_id, admin_steamid, period, bucket)
    WHERE t.scope <> 4 OR change.is_unknown
    GROUP BY 1, 2, 3, 4, 5, 6
    HAVING sum(change.n) <> 0
  )
  SELECT grouped.scope::smallint, grouped.server_id, grouped.admin_steamid, grouped.period::smallint, grouped.bucket, ARRAY[
      coalesce(sum(n) FILTER (WHERE slot = 1), 0), coalesce(sum(n) FILTER (WHERE slot = 2), 0), coalesce(sum(n) FILTER (WHERE slot = 3), 0),
      coalesce(sum(n) FILTER (WHERE slot = 4), 0), coalesce(sum(n) FILTER (WHERE slot = 5), 0), coalesce(sum(n) FILTER (WHERE slot = 6), 0),
      coalesce(sum(n) FILTER (WHERE slot = 7), 0), coalesce(sum(n) FILTER (WHERE slot = 8), 0), coalesce(sum(n) FILTER (WHERE slot = 9), 0),
      coalesce(sum(n) FILTER (WHERE slot = 10), 0), coalesce(sum(n) FILTER (WHERE slot = 11), 0), coalesce(sum(n) FILTER (WHERE slot = 12), 0),
      coalesce(sum(n) FILTER (WHERE slot = 13), 0), coalesce(sum(n) FILTER (WHERE slot = 14), 0), coalesce(sum(n) FILTER (WHERE slot = 15), 0)
    ]::integer[]
  FROM grouped
  GROUP BY 1, 2, 3, 4, 5
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION add_to_penalty_tallies(changes penalty_change[]) RETURNS void LANGUAGE sql AS $$
  INSERT INTO penalty_tallies AS tally (scope, server_id, admin_steamid, period, bucket, counts)
  SELECT * FROM tally_penalty_changes(changes)
  ON CONFLICT (scope, server_id, admin_steamid, period, bucket)
  DO UPDATE SET counts = add_counts(tally.counts, excluded.counts)
$$;
--> statement-breakpoint
CREATE AGGREGATE sum_counts(integer[]) (SFUNC = add_counts, STYPE = integer[]);
--> statement-breakpoint
-- The tallies as the rows themselves say, month after month: of millions of rows no more is in memory.
CREATE FUNCTION recount_penalty_tallies()
RETURNS TABLE (scope smallint, server_id integer, admin_steamid bigint, period smallint, bucket date, counts integer[])
LANGUAGE sql STABLE AS $$
  SELECT tally.scope, tally.server_id, tally.admin_steamid, tally.period, tally.bucket, sum_counts(tally.counts)
  FROM (
    SELECT date_trunc('month', min(created_at) AT TIME ZONE 'UTC') AS oldest,
      date_trunc('month', max(created_at) AT TIME ZONE 'UTC') AS newest
    FROM penalties
  ) AS span
  CROSS JOIN LATERAL generate_series(span.oldest, span.newest, interval '1 month') AS month
  CROSS JOIN LATERAL tally_penalty_changes((
    SELECT array_agg(c::penalty_change) FROM (
      SELECT p.server_id, p.admin_steamid, p.player_steamid = 0, (p.created_at AT TIME ZONE 'UTC')::date, p.type, p.status,
        count(*)::integer
      FROM penalties AS p
      WHERE p.created_at >= month AT TIME ZONE 'UTC' AND p.created_at < (month + interval '1 month') AT TIME ZONE 'UTC'
      GROUP BY 1, 2, 3, 4, 5, 6
    ) AS c
  )) AS tally
  GROUP BY 1, 2, 3, 4, 5
$$;
--> statement-breakpoint
-- A dump of data alone is loaded with an empty search_path, under which the functions found neither types nor tables.
ALTER FUNCTION add_to_penalty_tallies(penalty_change[]) SET search_path = public, pg_temp;
--> statement-breakpoint
ALTER FUNCTION recount_penalty_tallies() SET search_path = public, pg_temp;
--> statement-breakpoint
ALTER FUNCTION penalties_inserted() SET search_path = public, pg_temp;
--> statement-breakpoint
ALTER FUNCTION penalties_updated() SET search_path = public, pg_temp;
--> statement-breakpoint
ALTER FUNCTION penalties_deleted() SET search_path = public, pg_temp;
--> statement-breakpoint
ALTER FUNCTION penalties_truncated() SET search_path = public, pg_temp;
--> statement-breakpoint
-- Such a dump holds the tallies beside the rows that they are worked out of, in whichever order they are loaded: only
-- the triggers' own tallies count, or everything would be counted twice.
CREATE FUNCTION skip_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalty_tallies_are_derived BEFORE INSERT ON penalty_tallies FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND current_setting('community_api.recounts', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION skip_row();
