-- Tells every process that an account changed: a read replica may not have the change yet.
CREATE FUNCTION notify_accounts_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed', 'accounts');
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER accounts_changed AFTER INSERT OR DELETE OR TRUNCATE ON users
  FOR EACH STATEMENT EXECUTE FUNCTION notify_accounts_changed();
--> statement-breakpoint
CREATE TRIGGER account_updated AFTER UPDATE ON users
  FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION notify_accounts_changed();
