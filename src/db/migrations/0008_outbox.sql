ALTER TABLE "penalty_events" ALTER COLUMN "penalty_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "penalty_type" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "status" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "player_name" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "player_steamid" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "admin_name" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "admin_steamid" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "reason" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "duration_minutes" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "server_id" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ALTER COLUMN "created_at" DROP NOT NULL;--> statement-breakpoint
ALTER TABLE "penalty_events" ADD COLUMN "data" jsonb;--> statement-breakpoint
CREATE INDEX "penalty_events_data" ON "penalty_events" USING btree ("id") WHERE data is not null;--> statement-breakpoint
-- The event of a change of penalty p: the only list of its columns, in the order of penalty_events. The insert replaces the
-- id. The function is inlined. is_silent also if the first import of its source is not completed, or if it is long past.
CREATE FUNCTION penalty_event(
  p penalties, type penalty_event_type, status penalty_status, at timestamptz, is_silent boolean, is_deleted boolean
) RETURNS SETOF penalty_events LANGUAGE sql STABLE AS $$
  SELECT 0::bigint, type, at::timestamptz(3), is_silent OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at)
      OR coalesce(p.source IN (SELECT name FROM penalty_sources WHERE completed_at IS NULL), false),
    is_deleted, p.id, p.type, status, p.player_name, p.player_steamid, p.admin_name, p.admin_steamid, p.reason,
    p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name, p.lifted_by_steamid,
    p.lift_reason, NULL::jsonb
$$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION record_inserted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events OVERRIDING USER VALUE
  SELECT event.* FROM added AS p
  CROSS JOIN LATERAL penalty_event(p::penalties, 'penalty.created', told_penalty_status(p.status, p.ends_at, told), at, false, false) AS event
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION record_deleted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events OVERRIDING USER VALUE
  SELECT event.* FROM removed AS p
  CROSS JOIN LATERAL penalty_event(p::penalties, 'penalty.removed', told_penalty_status(p.status, p.ends_at, told), at, false, true) AS event
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Full joins are never nested loops. A session keeps the plan of its first update: planned for a few penalties, a nested
-- loop over 20,000 took minutes.
CREATE OR REPLACE FUNCTION record_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events OVERRIDING USER VALUE
  SELECT event.* FROM added AS p
  FULL JOIN removed AS before ON before.id = p.id
  CROSS JOIN LATERAL (
    SELECT told_penalty_status(before.status, before.ends_at, told) AS old, told_penalty_status(p.status, p.ends_at, told) AS new
  ) AS status
  -- What clients saw of the penalty, and what they are to see: the same event if it is unchanged for them.
  CROSS JOIN LATERAL penalty_event(before::penalties, 'penalty.changed', status.old, at, true, false) AS seen
  CROSS JOIN LATERAL penalty_event(p::penalties, 'penalty.changed', status.new, at, true, false) AS shown
  CROSS JOIN LATERAL (
    SELECT CASE
      WHEN before.gone_at IS NULL AND p.gone_at IS NOT NULL THEN 'penalty.removed'
      WHEN status.old <> 'UNBANNED' AND status.new = 'UNBANNED' THEN 'penalty.lifted'
      WHEN status.old = 'ACTIVE' AND status.new = 'EXPIRED' THEN 'penalty.expired'
      WHEN seen IS DISTINCT FROM shown OR (before.gone_at IS NULL) <> (p.gone_at IS NULL) THEN 'penalty.changed'
    END::penalty_event_type AS type
  ) AS change
  CROSS JOIN LATERAL penalty_event(p::penalties, change.type, status.new, at, false, false) AS event
  WHERE before IS DISTINCT FROM p AND change.type IS NOT NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE OR REPLACE FUNCTION record_truncated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('penalty_tallies'));
  INSERT INTO penalty_events OVERRIDING USER VALUE
  SELECT event.* FROM penalties AS p
  CROSS JOIN LATERAL penalty_event(p, 'penalty.removed', p.status, at, true, true) AS event
  ORDER BY p.id;
  RETURN NULL;
END $$;
