-- Times of penalties are whole seconds, whoever writes them.

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
