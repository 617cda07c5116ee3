-- Keeps penalty_tallies in step with penalties, statement by statement, in the writer's own transaction.
-- Functions that name types or tables set their search_path: a dump of data alone is loaded with an empty one.

-- Writers queue on one lock before they touch a row, so that two of them never wait for each other's tallies.
CREATE FUNCTION penalties_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('penalty_tallies'));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_lock BEFORE INSERT OR UPDATE OR DELETE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION penalties_lock();

--> statement-breakpoint
-- Counts -----------------------------------------------------------------------------------------------------------

-- Fifteen counts: types in the order of penalty_type, within each the statuses in the order of penalty_status.
CREATE FUNCTION add_counts(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ARRAY[a[1]+b[1], a[2]+b[2], a[3]+b[3], a[4]+b[4], a[5]+b[5], a[6]+b[6], a[7]+b[7], a[8]+b[8], a[9]+b[9],
    a[10]+b[10], a[11]+b[11], a[12]+b[12], a[13]+b[13], a[14]+b[14], a[15]+b[15]]
$$;
--> statement-breakpoint
CREATE AGGREGATE sum_counts(integer[]) (SFUNC = add_counts, STYPE = integer[]);

--> statement-breakpoint
-- So many rows gained (or lost, where n is negative) that fall into the same tallies.
CREATE TYPE penalty_change AS (
  server_id integer, admin_steamid bigint, is_unknown boolean, day date, type penalty_type, status penalty_status, n integer
);

--> statement-breakpoint
-- What a set of changes adds to each tally that it belongs to. A recount is the same of all rows.
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
-- Triggers ---------------------------------------------------------------------------------------------------------

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
-- Recounting -------------------------------------------------------------------------------------------------------

-- The tallies as the penalties themselves say, month after month: of millions of rows only one month is in memory.
CREATE FUNCTION recount_penalty_tallies()
RETURNS TABLE (scope smallint, server_id integer, admin_steamid bigint, period smallint, bucket date, counts integer[])
LANGUAGE sql STABLE
SET search_path = public, pg_temp AS $$
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
-- A dump holds the tallies beside the penalties that they are worked out of, in whichever order they are loaded: only
-- rows written by the triggers or by a recount count, or everything would be counted twice.
CREATE FUNCTION skip_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalty_tallies_are_derived BEFORE INSERT ON penalty_tallies FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND current_setting('community_api.recounts', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION skip_row();
