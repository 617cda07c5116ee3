ALTER TABLE "penalty_sources" ADD COLUMN "timezone" text;--> statement-breakpoint
ALTER TABLE "server_aliases" ADD COLUMN "address" text;--> statement-breakpoint
-- Full joins are never nested loops. A session keeps the plan of its first update: planned for a few penalties, a nested
-- loop over 20,000 took minutes.
CREATE OR REPLACE FUNCTION record_updated_penalties() RETURNS trigger LANGUAGE plpgsql SET search_path = public, pg_temp AS $$
DECLARE
  at timestamptz := clock_timestamp();
  told timestamptz := (SELECT expired_up_to FROM penalty_event_state);
  times CONSTANT text[] := ARRAY['created_at', 'ends_at', 'lifted_at', 'is_silent'];
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
  -- A corrected time zone of a source changes the times of all its penalties.
  CROSS JOIN LATERAL penalty_event(p::penalties, change.type, status.new, at,
    change.type = 'penalty.changed' AND coalesce(current_setting('community_api.times_are_silent', true), '') = 'on'
      AND (before.gone_at IS NULL) = (p.gone_at IS NULL)
      AND to_jsonb(seen) - times = to_jsonb(shown) - times,
    false) AS event
  WHERE before IS DISTINCT FROM p AND change.type IS NOT NULL
  ORDER BY p.id;
  RETURN NULL;
END $$;
