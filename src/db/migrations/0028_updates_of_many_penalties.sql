-- As in 0021 and 0010, with full joins, which are never nested loops. A session keeps the plan that it made for its first
-- update: after one of few penalties, an update of n compared n times n rows, 20,000 of them for minutes.
CREATE OR REPLACE FUNCTION record_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
CREATE OR REPLACE FUNCTION name_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
BEGIN
  PERFORM remember_player_names(array_agg(after.player_steamid), array_agg(after.player_name), false),
    forget_penalty_names(array_agg(before.player_steamid), array_agg(before.player_name))
  FROM added AS after FULL JOIN removed AS before USING (id)
  WHERE (after.player_steamid, after.player_name) IS DISTINCT FROM (before.player_steamid, before.player_name)
  HAVING count(*) > 0;
  RETURN NULL;
END $$;
