-- Times that no list can show become the nearest that one can, so that the constraint refuses no row that is here.
-- Triggers bring the tallies along.
UPDATE penalties SET
  created_at = least(greatest(date_trunc('second', created_at), '1971-01-01 00:00:00+00'), '9999-12-31 23:59:59+00'),
  ends_at = CASE WHEN ends_at IS NOT NULL
    THEN least(greatest(date_trunc('second', ends_at), '1971-01-01 00:00:00+00'), '9999-12-31 23:59:59+00') END,
  lifted_at = CASE WHEN lifted_at IS NOT NULL
    THEN least(greatest(date_trunc('second', lifted_at), '1971-01-01 00:00:00+00'), '9999-12-31 23:59:59+00') END
WHERE created_at <> date_trunc('second', created_at) OR NOT (created_at >= '1971-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00')
  OR ends_at <> date_trunc('second', ends_at) OR NOT (ends_at >= '1971-01-01 00:00:00+00' AND ends_at < '10000-01-01 00:00:00+00')
  OR lifted_at <> date_trunc('second', lifted_at) OR NOT (lifted_at >= '1971-01-01 00:00:00+00' AND lifted_at < '10000-01-01 00:00:00+00');
--> statement-breakpoint
ALTER TABLE "penalties" ADD CONSTRAINT "penalties_times" CHECK ((created_at >= '1971-01-01 00:00:00+00' and created_at < '10000-01-01 00:00:00+00') and (ends_at >= '1971-01-01 00:00:00+00' and ends_at < '10000-01-01 00:00:00+00') and (lifted_at >= '1971-01-01 00:00:00+00' and lifted_at < '10000-01-01 00:00:00+00'));
--> statement-breakpoint
-- Cut, not rounded, as lists show a time: rows that share a shown second are then ordered by their ids.
CREATE FUNCTION cut_penalty_times() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.created_at := date_trunc('second', NEW.created_at);
  NEW.ends_at := date_trunc('second', NEW.ends_at);
  NEW.lifted_at := date_trunc('second', NEW.lifted_at);
  RETURN NEW;
END $$;
--> statement-breakpoint
-- Imports write whole seconds: for their rows the condition alone is looked at. Rounding tells a fraction more cheaply.
CREATE TRIGGER penalties_times BEFORE INSERT OR UPDATE OF created_at, ends_at, lifted_at ON penalties FOR EACH ROW
  WHEN (NEW.created_at <> NEW.created_at::timestamptz(0) OR NEW.ends_at <> NEW.ends_at::timestamptz(0)
    OR NEW.lifted_at <> NEW.lifted_at::timestamptz(0))
  EXECUTE FUNCTION cut_penalty_times();
