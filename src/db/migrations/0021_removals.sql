-- A penalty in force that its source no longer has is lifted when it is marked as gone, by whichever version marks it. See
-- isLiftedByRemoval in src/domain/penalty.ts.
SELECT pg_advisory_xact_lock(hashtext('penalty_tallies'));
--> statement-breakpoint
CREATE FUNCTION lift_removed_penalty() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.status := 'UNBANNED';
  NEW.lifted_at := date_trunc('second', NEW.gone_at);
  NEW.lifted_by_name := NULL;
  NEW.lifted_by_steamid := NULL;
  NEW.lift_reason := NULL;
  RETURN NEW;
END $$;
--> statement-breakpoint
CREATE TRIGGER penalties_lift_removed BEFORE INSERT OR UPDATE OF gone_at ON penalties FOR EACH ROW
  WHEN (NEW.gone_at IS NOT NULL AND NEW.status = 'ACTIVE' AND (NEW.ends_at IS NULL OR NEW.ends_at > NEW.gone_at))
  EXECUTE FUNCTION lift_removed_penalty();
--> statement-breakpoint
-- Penalties in force that were marked before: a silent penalty.changed for each.
ALTER TABLE penalties DISABLE TRIGGER penalties_record_updated;
--> statement-breakpoint
SELECT set_config('community_api.records', 'on', true);
--> statement-breakpoint
WITH lifted AS (
  UPDATE penalties AS p SET gone_at = gone_at
  WHERE gone_at IS NOT NULL AND status = 'ACTIVE' AND (ends_at IS NULL OR ends_at > now())
  RETURNING p
)
INSERT INTO penalty_events OVERRIDING USER VALUE
SELECT event.* FROM lifted
CROSS JOIN LATERAL penalty_event(lifted.p, 'penalty.changed', 'UNBANNED', clock_timestamp(), true, false) AS event
ORDER BY (lifted.p).id;
--> statement-breakpoint
SELECT set_config('community_api.records', '', true);
--> statement-breakpoint
ALTER TABLE penalties ENABLE TRIGGER penalties_record_updated;
