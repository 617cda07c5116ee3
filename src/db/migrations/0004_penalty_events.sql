CREATE TYPE "public"."penalty_event_type" AS ENUM('penalty.created', 'penalty.changed', 'penalty.lifted', 'penalty.expired', 'penalty.removed');--> statement-breakpoint
CREATE TABLE "penalty_event_state" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"epoch" text NOT NULL,
	"expired_up_to" timestamp (3) with time zone NOT NULL,
	"pruned_up_to" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "penalty_event_state_only" CHECK ("penalty_event_state"."is_only")
);
--> statement-breakpoint
CREATE TABLE "penalty_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "penalty_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" "penalty_event_type" NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"is_silent" boolean NOT NULL,
	"is_deleted" boolean DEFAULT false NOT NULL,
	"penalty_id" bigint NOT NULL,
	"penalty_type" "penalty_type" NOT NULL,
	"status" "penalty_status" NOT NULL,
	"player_name" text NOT NULL,
	"player_steamid" bigint NOT NULL,
	"admin_name" text NOT NULL,
	"admin_steamid" bigint NOT NULL,
	"reason" text NOT NULL,
	"duration_minutes" integer NOT NULL,
	"server_id" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"lifted_at" timestamp (3) with time zone,
	"lifted_by_name" text,
	"lift_reason" text
);
--> statement-breakpoint
ALTER TABLE "penalty_sources" ADD COLUMN "completed_at" timestamp (3) with time zone;

--> statement-breakpoint
INSERT INTO penalty_event_state (epoch, expired_up_to) VALUES (substr(md5(random()::text), 1, 8), date_trunc('second', now()));
--> statement-breakpoint
-- The outbox of penalties: one row a change, written by triggers in the transaction that makes the change, whoever
-- makes it. Every writer holds the lock of penalties_lock() from its first statement to the end of its transaction, and
-- ids are taken while it is held: so ids are in the order of commits, and none ever appears below one that was read.

-- The status that clients were told: an ACTIVE penalty that ended up to a moment whose expiries were recorded is EXPIRED.
CREATE FUNCTION told_penalty_status(status penalty_status, ends_at timestamptz, expired_up_to timestamptz)
RETURNS penalty_status LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN status = 'ACTIVE' AND ends_at <= expired_up_to THEN 'EXPIRED'::penalty_status ELSE status END
$$;
--> statement-breakpoint
-- Nobody waits to hear of what was over more than a day ago. A penalty without an end never is.
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
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lift_reason)
  SELECT 'penalty.created', at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    p.id, p.type, told_penalty_status(p.status, p.ends_at, told), p.player_name, p.player_steamid, p.admin_name,
    p.admin_steamid, p.reason, p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name,
    p.lift_reason
  FROM added AS p LEFT JOIN penalty_sources AS source ON source.name = p.source AND source.completed_at IS NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE FUNCTION record_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events (type, occurred_at, is_silent, penalty_id, penalty_type, status, player_name, player_steamid,
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lift_reason)
  SELECT change.type, at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    p.id, p.type, change.new_status, p.player_name, p.player_steamid, p.admin_name, p.admin_steamid, p.reason,
    p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name, p.lift_reason
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
CREATE FUNCTION record_deleted_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
BEGIN
  INSERT INTO penalty_events (type, occurred_at, is_silent, is_deleted, penalty_id, penalty_type, status, player_name, player_steamid,
    admin_name, admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lift_reason)
  SELECT 'penalty.removed', at, source.name IS NOT NULL OR is_old_penalty(p.created_at, p.ends_at, p.lifted_at, at),
    true, p.id, p.type, told_penalty_status(p.status, p.ends_at, told), p.player_name, p.player_steamid, p.admin_name,
    p.admin_steamid, p.reason, p.duration_minutes, p.server_id, p.created_at, p.ends_at, p.lifted_at, p.lifted_by_name,
    p.lift_reason
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
    lifted_by_name, lift_reason)
  SELECT 'penalty.removed', clock_timestamp(), true, true, id, type, status, player_name, player_steamid, admin_name,
    admin_steamid, reason, duration_minutes, server_id, created_at, ends_at, lifted_at, lifted_by_name, lift_reason
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
CREATE TRIGGER penalty_events_changed AFTER INSERT ON penalty_events
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
-- A dump of data alone holds the events beside the penalties whose loading is recorded anew, and a second state.
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
