-- The outbox of penalties: triggers write one event for each change, in the transaction that makes the change. Every
-- writer holds the lock of penalties_lock() from its first statement to the end of its transaction and takes event ids
-- under it. Ids are therefore in commit order: once an id is visible, no lower id appears.
INSERT INTO penalty_event_state (epoch, expired_up_to) VALUES (substr(md5(random()::text), 1, 8), date_trunc('second', now()));
--> statement-breakpoint
-- The status that clients last saw: an ACTIVE penalty counts as EXPIRED once its penalty.expired event has been recorded.
CREATE FUNCTION told_penalty_status(status penalty_status, ends_at timestamptz, expired_up_to timestamptz)
RETURNS penalty_status LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN status = 'ACTIVE' AND ends_at <= expired_up_to THEN 'EXPIRED'::penalty_status ELSE status END
$$;
--> statement-breakpoint
-- Whether a penalty ended more than a day ago, so that its event is silent. A permanent penalty is never old.
CREATE FUNCTION is_old_penalty(created_at timestamptz, ends_at timestamptz, lifted_at timestamptz, at timestamptz)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT created_at < at - interval '1 day' AND coalesce(least(ends_at, lifted_at) < at - interval '1 day', false)
$$;
--> statement-breakpoint
CREATE FUNCTION record_inserted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events (type, occurred_at, is_silent, penalty_id, penalty_type, status, player_name, player_steamid,
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name,
    lifted_by_steamid, lift_reason)
  SELECT 'penalty.created', at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    p.id, p.type, told_penalty_status(p.status, p.ends_at, told), p.player_name, p.player_steamid, p.admin_name,
    p.admin_steamid, p.reason, p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name,
    p.lifted_by_steamid, p.lift_reason
  FROM added AS p LEFT JOIN penalty_sources AS source ON source.name = p.source AND source.completed_at IS NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Full joins are never nested loops. A session keeps the plan of its first update: planned for a few penalties, a nested
-- loop over 20,000 took minutes.
CREATE FUNCTION record_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events (type, occurred_at, is_silent, penalty_id, penalty_type, status, player_name, player_steamid,
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name,
    lifted_by_steamid, lift_reason)
  SELECT change.type, at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    p.id, p.type, change.new_status, p.player_name, p.player_steamid, p.admin_name, p.admin_steamid, p.reason,
    p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name, p.lifted_by_steamid, p.lift_reason
  FROM added AS p
  FULL JOIN removed AS before ON before.id = p.id
  CROSS JOIN LATERAL (
    SELECT told_penalty_status(before.status, before.ends_at, told) AS old_status,
      told_penalty_status(p.status, p.ends_at, told) AS new_status
  ) AS statuses
  CROSS JOIN LATERAL (
    SELECT statuses.new_status, CASE
      WHEN before.gone_at IS NULL AND p.gone_at IS NOT NULL THEN 'penalty.removed'
      WHEN old_status <> 'UNBANNED' AND new_status = 'UNBANNED' THEN 'penalty.lifted'
      WHEN old_status = 'ACTIVE' AND new_status = 'EXPIRED' THEN 'penalty.expired'
      WHEN old_status <> new_status OR (before.gone_at IS NULL) <> (p.gone_at IS NULL)
        OR (before.type, before.player_name, before.player_steamid, before.admin_name, before.admin_steamid, before.reason,
          before.duration_minutes, before.server_id, before.created_at, before.ends_at, before.lifted_at,
          before.lifted_by_name, before.lift_reason)
        IS DISTINCT FROM (p.type, p.player_name, p.player_steamid, p.admin_name, p.admin_steamid, p.reason,
          p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name, p.lift_reason)
        THEN 'penalty.changed'
    END::penalty_event_type AS type
  ) AS change
  LEFT JOIN penalty_sources AS source ON source.name = p.source AND source.completed_at IS NULL
  WHERE change.type IS NOT NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION record_deleted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events (type, occurred_at, is_silent, is_deleted, penalty_id, penalty_type, status, player_name, player_steamid,
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name,
    lifted_by_steamid, lift_reason)
  SELECT 'penalty.removed', at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    true, p.id, p.type, told_penalty_status(p.status, p.ends_at, told), p.player_name, p.player_steamid, p.admin_name,
    p.admin_steamid, p.reason, p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name,
    p.lifted_by_steamid, p.lift_reason
  FROM removed AS p LEFT JOIN penalty_sources AS source ON source.name = p.source AND source.completed_at IS NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION record_truncated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('penalty_tallies'));
  INSERT INTO penalty_events (type, occurred_at, is_silent, is_deleted, penalty_id, penalty_type, status, player_name,
    player_steamid, admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at,
    lifted_by_name, lifted_by_steamid, lift_reason)
  SELECT 'penalty.removed', clock_timestamp(), true, true, id, type, status, player_name, player_steamid, admin_name,
    admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lifted_by_steamid, lift_reason
  FROM penalties ORDER BY id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_record_inserted AFTER INSERT ON penalties
  REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION record_inserted_penalties();
--> statement-breakpoint
CREATE TRIGGER penalties_record_updated AFTER UPDATE ON penalties
  REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION record_updated_penalties();
--> statement-breakpoint
CREATE TRIGGER penalties_record_deleted AFTER DELETE ON penalties
  REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION record_deleted_penalties();
--> statement-breakpoint
CREATE TRIGGER penalties_record_truncated BEFORE TRUNCATE ON penalties
  FOR EACH STATEMENT EXECUTE FUNCTION record_truncated_penalties();
--> statement-breakpoint
-- Skips the events and the state of a data-only dump: the triggers record events while the penalties are loaded, and the
-- state has one row.
CREATE TRIGGER penalty_events_are_derived BEFORE INSERT ON penalty_events FOR EACH ROW
  WHEN (pg_trigger_depth() = 0 AND current_setting('community_api.records', true) IS DISTINCT FROM 'on')
  EXECUTE FUNCTION skip_row();
--> statement-breakpoint
CREATE FUNCTION is_penalty_event_state_there() RETURNS boolean LANGUAGE sql STABLE SET search_path = public, pg_temp AS $$
  SELECT EXISTS (SELECT FROM penalty_event_state)
$$;
--> statement-breakpoint
CREATE TRIGGER penalty_event_state_once BEFORE INSERT ON penalty_event_state FOR EACH ROW
  WHEN (is_penalty_event_state_there()) EXECUTE FUNCTION skip_row();
