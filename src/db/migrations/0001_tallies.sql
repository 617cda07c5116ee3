-- Penalties and their tallies: whole seconds in times, and counts that triggers update statement by statement, in the
-- transaction that changes the penalties.
-- A function that names a type or table sets its search_path, because a data-only dump is loaded with an empty one.

-- Times ---------------------------------------------------------------------------------------------------------------

-- Truncates times to whole seconds, as lists show them: penalties that were created in the same second are then ordered
-- by id. Rounding would show some of them a second late.
CREATE FUNCTION cut_penalty_times() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.created_at := date_trunc('second', NEW.created_at);
  NEW.ends_at := date_trunc('second', NEW.ends_at);
  NEW.lifted_at := date_trunc('second', NEW.lifted_at);
  RETURN NEW;
END $$;
--> statement-breakpoint
-- Comparing with a rounded time is the cheapest way to detect a fraction of a second. Imports write whole seconds, so
-- their rows do not call the function.
CREATE TRIGGER penalties_times BEFORE INSERT OR UPDATE OF created_at, ends_at, lifted_at ON penalties FOR EACH ROW
  WHEN (NEW.created_at <> NEW.created_at::timestamptz(0) OR NEW.ends_at <> NEW.ends_at::timestamptz(0)
    OR NEW.lifted_at <> NEW.lifted_at::timestamptz(0))
  EXECUTE FUNCTION cut_penalty_times();
--> statement-breakpoint
-- Lock ----------------------------------------------------------------------------------------------------------------

-- Each writer takes one lock before it changes a row, so that two writers never wait for each other's tallies.
CREATE FUNCTION penalties_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('penalty_tallies'));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_lock BEFORE INSERT OR UPDATE OR DELETE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION penalties_lock();
--> statement-breakpoint
-- Counts --------------------------------------------------------------------------------------------------------------

-- Tallies are updated often: free space in each page keeps an update in its page.
ALTER TABLE penalty_tallies SET (fillfactor = 70);
--> statement-breakpoint
-- Adds fifteen counts: types in the order of penalty_type, within each the statuses in the order of penalty_status.
CREATE FUNCTION add_counts(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ARRAY[a[1]+b[1], a[2]+b[2], a[3]+b[3], a[4]+b[4], a[5]+b[5], a[6]+b[6], a[7]+b[7], a[8]+b[8], a[9]+b[9],
    a[10]+b[10], a[11]+b[11], a[12]+b[12], a[13]+b[13], a[14]+b[14], a[15]+b[15]]
$$;
--> statement-breakpoint
-- n penalties with the same tallies were added, or removed if n is negative.
CREATE TYPE penalty_change AS (
  server_id integer, admin_steamid bigint, is_unknown boolean, day date, type penalty_type, status penalty_status, n integer
);
--> statement-breakpoint
-- Returns what a set of changes adds to each tally. Scopes and periods are those of src/db/schema/penalties.ts;
-- recount_penalty_tallies has to agree with them.
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
CREATE FUNCTION add_to_penalty_tallies(changes penalty_change[]) RETURNS void LANGUAGE sql
SET search_path = public, pg_temp AS $$
  INSERT INTO penalty_tallies AS tally (scope, server_id, admin_steamid, period, bucket, counts)
  SELECT * FROM tally_penalty_changes(changes)
  ON CONFLICT (scope, server_id, admin_steamid, period, bucket)
  DO UPDATE SET counts = add_counts(tally.counts, excluded.counts)
$$;
--> statement-breakpoint
-- Triggers ------------------------------------------------------------------------------------------------------------

CREATE FUNCTION penalties_inserted() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, player_steamid = 0, (created_at AT TIME ZONE 'UTC')::date, type, status, count(*)::integer
    FROM added GROUP BY 1, 2, 3, 4, 5, 6
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_inserted AFTER INSERT ON penalties
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penalties_inserted();
--> statement-breakpoint
CREATE FUNCTION penalties_updated() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, is_unknown, day, type, status, sum(n)::integer FROM (
      SELECT server_id, admin_steamid, player_steamid = 0 AS is_unknown, (created_at AT TIME ZONE 'UTC')::date AS day,
        type, status, 1 AS n FROM added
      UNION ALL
      SELECT server_id, admin_steamid, player_steamid = 0, (created_at AT TIME ZONE 'UTC')::date, type, status, -1 FROM removed
    ) AS both_sides
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(n) <> 0
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_updated AFTER UPDATE ON penalties
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penalties_updated();
--> statement-breakpoint
CREATE FUNCTION penalties_deleted() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, player_steamid = 0, (created_at AT TIME ZONE 'UTC')::date, type, status, -count(*)::integer
    FROM removed GROUP BY 1, 2, 3, 4, 5, 6
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_deleted AFTER DELETE ON penalties
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION penalties_deleted();
--> statement-breakpoint
CREATE FUNCTION penalties_truncated() RETURNS trigger LANGUAGE plpgsql
SET search_path = public, pg_temp AS $$
BEGIN
  TRUNCATE penalty_tallies;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_truncated AFTER TRUNCATE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION penalties_truncated();
--> statement-breakpoint
-- Recount -------------------------------------------------------------------------------------------------------------

-- Counts all penalties, one month after another, by all keys in one pass. Unlike tally_penalty_changes it does not turn
-- each penalty into fourteen rows to sort: ten million penalties take about a minute instead of a quarter of an hour.
-- Scopes, periods and slots have to agree with tally_penalty_changes.
CREATE FUNCTION recount_penalty_tallies()
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
      CASE GROUPING(p.is_unknown, p.server_id, p.admin_steamid) WHEN 7 THEN 0 WHEN 5 THEN 1 WHEN 6 THEN 2 WHEN 4 THEN 3 ELSE 4 END AS scope,
      (array_position(span.types, p.type) - 1) * 3 + array_position(span.statuses, p.status) AS slot
    FROM (
      SELECT server_id, admin_steamid, player_steamid = 0 AS is_unknown, (created_at AT TIME ZONE 'UTC')::date AS day, type, status
      FROM penalties
      WHERE created_at >= month AT TIME ZONE 'UTC' AND created_at < (month + interval '1 month') AT TIME ZONE 'UTC'
    ) AS p
    GROUP BY p.type, p.status, GROUPING SETS (
      (), (p.day), (p.server_id), (p.server_id, p.day), (p.admin_steamid), (p.admin_steamid, p.day), (p.server_id, p.admin_steamid),
      (p.is_unknown), (p.is_unknown, p.day)
    )
    HAVING GROUPING(p.is_unknown) = 1 OR p.is_unknown
  ) AS grouped
  CROSS JOIN LATERAL (
    SELECT 2 AS period, grouped.day AS bucket WHERE grouped.day IS NOT NULL
    UNION ALL SELECT 1, month::date WHERE grouped.day IS NULL
    UNION ALL SELECT 0, '1970-01-01' WHERE grouped.day IS NULL
  ) AS t
  GROUP BY 1, 2, 3, 4, 5
$$;
--> statement-breakpoint
-- Skips the rows of derived tables when a data-only dump is loaded: the triggers write them again, in whatever order the
-- tables are loaded.
CREATE FUNCTION skip_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Only the triggers and a recount, which sets community_api.recounts, insert tallies.
CREATE TRIGGER penalty_tallies_are_derived BEFORE INSERT ON penalty_tallies FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND current_setting('community_api.recounts', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION skip_row();
