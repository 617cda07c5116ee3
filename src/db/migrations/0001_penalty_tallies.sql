-- Keeps penalty_tallies in step with penalties, statement by statement, in the writer's own transaction.
-- Writers queue on one lock before they touch a row, so that two of them never wait for each other's tallies.
CREATE FUNCTION penalties_lock() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('penalty_tallies'));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION add_counts(a integer[], b integer[]) RETURNS integer[] LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS $$
  SELECT ARRAY[a[1]+b[1], a[2]+b[2], a[3]+b[3], a[4]+b[4], a[5]+b[5], a[6]+b[6], a[7]+b[7], a[8]+b[8], a[9]+b[9],
    a[10]+b[10], a[11]+b[11], a[12]+b[12], a[13]+b[13], a[14]+b[14], a[15]+b[15]]
$$;
--> statement-breakpoint
CREATE TYPE penalty_change AS (
  server_id integer, admin_steamid bigint, is_unknown boolean, day date, type penalty_type, status penalty_status, n integer
);
--> statement-breakpoint
-- Adds a set of changes (rows gained or lost) to every tally they belong to.
CREATE FUNCTION add_to_penalty_tallies(changes penalty_change[]) RETURNS void LANGUAGE sql AS $$
  WITH change AS (
    SELECT c.server_id, c.admin_steamid, c.is_unknown, c.day, date_trunc('month', c.day)::date AS month,
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
  INSERT INTO penalty_tallies AS tally (scope, server_id, admin_steamid, period, bucket, counts)
  SELECT scope, server_id, admin_steamid, period, bucket, ARRAY[
      coalesce(sum(n) FILTER (WHERE slot = 1), 0), coalesce(sum(n) FILTER (WHERE slot = 2), 0), coalesce(sum(n) FILTER (WHERE slot = 3), 0),
      coalesce(sum(n) FILTER (WHERE slot = 4), 0), coalesce(sum(n) FILTER (WHERE slot = 5), 0), coalesce(sum(n) FILTER (WHERE slot = 6), 0),
      coalesce(sum(n) FILTER (WHERE slot = 7), 0), coalesce(sum(n) FILTER (WHERE slot = 8), 0), coalesce(sum(n) FILTER (WHERE slot = 9), 0),
      coalesce(sum(n) FILTER (WHERE slot = 10), 0), coalesce(sum(n) FILTER (WHERE slot = 11), 0), coalesce(sum(n) FILTER (WHERE slot = 12), 0),
      coalesce(sum(n) FILTER (WHERE slot = 13), 0), coalesce(sum(n) FILTER (WHERE slot = 14), 0), coalesce(sum(n) FILTER (WHERE slot = 15), 0)
    ]
  FROM grouped
  GROUP BY 1, 2, 3, 4, 5
  ON CONFLICT (scope, server_id, admin_steamid, period, bucket)
  DO UPDATE SET counts = add_counts(tally.counts, excluded.counts)
$$;
--> statement-breakpoint
CREATE FUNCTION penalties_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, player_steamid = 0, (created_at AT TIME ZONE 'UTC')::date, type, status, count(*)::integer
    FROM added GROUP BY 1, 2, 3, 4, 5, 6
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION penalties_updated() RETURNS trigger LANGUAGE plpgsql AS $$
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
CREATE FUNCTION penalties_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM add_to_penalty_tallies(array_agg(c::penalty_change)) FROM (
    SELECT server_id, admin_steamid, player_steamid = 0, (created_at AT TIME ZONE 'UTC')::date, type, status, -count(*)::integer
    FROM removed GROUP BY 1, 2, 3, 4, 5, 6
  ) AS c;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION penalties_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  TRUNCATE penalty_tallies;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_lock BEFORE INSERT OR UPDATE OR DELETE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION penalties_lock();
--> statement-breakpoint
CREATE TRIGGER penalties_inserted AFTER INSERT ON penalties
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penalties_inserted();
--> statement-breakpoint
CREATE TRIGGER penalties_updated AFTER UPDATE ON penalties
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION penalties_updated();
--> statement-breakpoint
CREATE TRIGGER penalties_deleted AFTER DELETE ON penalties
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION penalties_deleted();
--> statement-breakpoint
CREATE TRIGGER penalties_truncated AFTER TRUNCATE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION penalties_truncated();
--> statement-breakpoint
-- Many small rows are rewritten often: room in the page keeps their updates in place.
ALTER TABLE penalty_tallies SET (fillfactor = 70);
--> statement-breakpoint
ALTER TABLE server_snapshots SET (fillfactor = 50);
--> statement-breakpoint
-- Tells every process that a server changed or was polled, that tokens were revoked, that sounds were published.
CREATE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed', TG_TABLE_NAME);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER servers_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON servers
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER server_snapshots_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON server_snapshots
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER api_tokens_changed AFTER UPDATE OF revoked_at, expires_at, token_hash OR DELETE OR TRUNCATE ON api_tokens
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER round_sounds_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON round_sounds
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
