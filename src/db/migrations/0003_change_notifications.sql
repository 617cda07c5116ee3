-- Tells every process that a server changed or was polled, that tokens were revoked, that sounds were published.
CREATE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed', TG_TABLE_NAME);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER servers_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON servers
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER server_snapshots_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON server_snapshots
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER api_tokens_changed AFTER UPDATE OF revoked_at, expires_at, token_hash OR DELETE OR TRUNCATE ON api_tokens
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER round_sounds_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON round_sounds
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
