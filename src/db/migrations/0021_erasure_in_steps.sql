UPDATE users SET admin_by_config = coalesce(admin_by_config, false), owner_by_config = coalesce(owner_by_config, false)
  WHERE admin_by_config IS NULL OR owner_by_config IS NULL;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "admin_by_config" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "owner_by_config" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "erased_people" ADD COLUMN "secret_id" text;--> statement-breakpoint
-- Whether the secret of now is the one of then is not known: it is taken for it, where there is one.
UPDATE erased_people SET secret_id = coalesce(
  (SELECT encode(sha256(convert_to('erasure secret ' || value, 'UTF8')), 'hex') FROM settings WHERE key = 'erasure_secret'), '');--> statement-breakpoint
ALTER TABLE "erased_people" ALTER COLUMN "secret_id" SET NOT NULL;--> statement-breakpoint
ALTER TABLE "erased_people" ADD COLUMN "stays_anonymous" boolean DEFAULT true NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ADD COLUMN "lifted_by_steamid" bigint;--> statement-breakpoint
UPDATE penalty_events SET lifted_by_steamid = penalties.lifted_by_steamid FROM penalties
  WHERE penalties.id = penalty_events.penalty_id AND penalty_events.lifted_by_name IS NOT NULL;--> statement-breakpoint
CREATE INDEX "audit_log_subject" ON "audit_log" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "audit_log_actor" ON "audit_log" USING btree ("actor_user_id") WHERE actor_user_id is not null;--> statement-breakpoint
CREATE INDEX "penalties_lifter" ON "penalties" USING btree ("lifted_by_steamid") WHERE lifted_by_steamid is not null;--> statement-breakpoint
CREATE INDEX "penalty_events_player" ON "penalty_events" USING btree ("player_steamid");--> statement-breakpoint
CREATE INDEX "penalty_events_admin" ON "penalty_events" USING btree ("admin_steamid");--> statement-breakpoint
CREATE INDEX "penalty_events_lifter" ON "penalty_events" USING btree ("lifted_by_steamid") WHERE lifted_by_steamid is not null;--> statement-breakpoint

-- As in 0004, with who lifted the penalty, so that the event of one that is gone is found by them.
CREATE OR REPLACE FUNCTION record_inserted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
  JOIN removed AS before ON before.id = p.id
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
CREATE OR REPLACE FUNCTION record_deleted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
CREATE OR REPLACE FUNCTION record_truncated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
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
