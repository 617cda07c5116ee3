-- Tallies without those of unknown players (scope 4), which nothing read.
SELECT pg_advisory_xact_lock(hashtext('penalty_tallies'));
--> statement-breakpoint
DELETE FROM penalty_tallies WHERE scope = 4;
--> statement-breakpoint
ALTER TYPE penalty_change DROP ATTRIBUTE is_unknown;
--> statement-breakpoint
-- Returns what a set of changes adds to each tally. Scopes and periods are those of src/db/schema/penalties.ts;
-- recount_penalty_tallies has to agree with them.
CREATE OR REPLACE FUNCTION tally_penalty_changes(changes penalty_change[])
RETURNS TABLE (scope smallint, server_id integer, admin_steamid bigint, period smallint, bucket date, counts integer[])
LANGUAGE sql STABLE AS $$
  WITH change AS (
    SELECT c.server_id, c.admin_steamid, c.day, date_trunc('month', c.day::timestamp)::date AS month,
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
      (3, change.server_id, change.admin_steamid, 0, '1970-01-01'), (3, change.server_id, change.admin_steamid, 1, month)
    ) AS t(scope, server_id, admin_steamid, period, bucket)
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
DROP TRIGGER penalties_inserted ON penalties;
--> statement-breakpoint
DROP TRIGGER penalties_deleted ON penalties;
--> statement-breakpoint
DROP FUNCTION penalties_inserted();
--> statement-breakpoint
DROP FUNCTION penalties_deleted();
--> statement-breakpoint
-- Tallies penalties that were inserted or deleted.
CREATE FUNCTION tally_penalties() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, (created_at AT TIME ZONE 'UTC')::date, type, status,
      (CASE TG_OP WHEN 'INSERT' THEN 1 ELSE -1 END * count(*))::integer
    FROM changed GROUP BY 1, 2, 3, 4, 5
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_inserted AFTER INSERT ON penalties
  REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_penalties();
--> statement-breakpoint
CREATE TRIGGER penalties_deleted AFTER DELETE ON penalties
  REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION tally_penalties();
--> statement-breakpoint
CREATE OR REPLACE FUNCTION penalties_updated() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, (created_at AT TIME ZONE 'UTC')::date, type, status, sum(n)::integer FROM (
      SELECT server_id, admin_steamid, created_at, type, status, 1 AS n FROM added
      UNION ALL SELECT server_id, admin_steamid, created_at, type, status, -1 FROM removed
    ) AS both_sides
    GROUP BY 1, 2, 3, 4, 5 HAVING sum(n) <> 0
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Counts all penalties, one month after another, by all keys in one pass. Unlike tally_penalty_changes it does not turn
-- each penalty into eleven rows to sort: ten million penalties take about a minute instead of a quarter of an hour.
-- Scopes, periods and slots have to agree with tally_penalty_changes.
CREATE OR REPLACE FUNCTION recount_penalty_tallies()
RETURNS TABLE (scope smallint, server_id integer, admin_steamid bigint, period smallint, bucket date, counts integer[])
LANGUAGE sql STABLE
SET search_path = public, pg_temp
SET work_mem = '64MB' AS $$
  WITH span AS (
    SELECT date_trunc('month', min(created_at) AT TIME ZONE 'UTC') AS oldest,
      date_trunc('month', max(created_at) AT TIME ZONE 'UTC') AS newest,
      enum_range(NULL::penalty_type) AS types, enum_range(NULL::penalty_status) AS statuses
    FROM penalties
  )
  SELECT grouped.scope::smallint, coalesce(grouped.server_id, 0), coalesce(grouped.admin_steamid, 0),
    t.period::smallint, t.bucket, ARRAY[
      coalesce(sum(n) FILTER (WHERE slot = 1), 0), coalesce(sum(n) FILTER (WHERE slot = 2), 0), coalesce(sum(n) FILTER (WHERE slot = 3), 0),
      coalesce(sum(n) FILTER (WHERE slot = 4), 0), coalesce(sum(n) FILTER (WHERE slot = 5), 0), coalesce(sum(n) FILTER (WHERE slot = 6), 0),
      coalesce(sum(n) FILTER (WHERE slot = 7), 0), coalesce(sum(n) FILTER (WHERE slot = 8), 0), coalesce(sum(n) FILTER (WHERE slot = 9), 0),
      coalesce(sum(n) FILTER (WHERE slot = 10), 0), coalesce(sum(n) FILTER (WHERE slot = 11), 0), coalesce(sum(n) FILTER (WHERE slot = 12), 0),
      coalesce(sum(n) FILTER (WHERE slot = 13), 0), coalesce(sum(n) FILTER (WHERE slot = 14), 0), coalesce(sum(n) FILTER (WHERE slot = 15), 0)
    ]::integer[]
  FROM span
  CROSS JOIN LATERAL generate_series(span.oldest, span.newest, interval '1 month') AS month
  CROSS JOIN LATERAL (
    SELECT p.server_id, p.admin_steamid, p.day, count(*)::integer AS n,
      CASE GROUPING(p.server_id, p.admin_steamid) WHEN 3 THEN 0 WHEN 1 THEN 1 WHEN 2 THEN 2 ELSE 3 END AS scope,
      (array_position(span.types, p.type) - 1) * 3 + array_position(span.statuses, p.status) AS slot
    FROM (
      SELECT server_id, admin_steamid, (created_at AT TIME ZONE 'UTC')::date AS day, type, status
      FROM penalties
      WHERE created_at >= month AT TIME ZONE 'UTC' AND created_at < (month + interval '1 month') AT TIME ZONE 'UTC'
    ) AS p
    GROUP BY p.type, p.status, GROUPING SETS (
      (), (p.day), (p.server_id), (p.server_id, p.day), (p.admin_steamid), (p.admin_steamid, p.day), (p.server_id, p.admin_steamid)
    )
  ) AS grouped
  CROSS JOIN LATERAL (
    SELECT 2 AS period, grouped.day AS bucket WHERE grouped.day IS NOT NULL
    UNION ALL SELECT 1, month::date WHERE grouped.day IS NULL
    UNION ALL SELECT 0, '1970-01-01' WHERE grouped.day IS NULL
  ) AS t
  GROUP BY 1, 2, 3, 4, 5
$$;
