-- Notifications on the channel "changed", with a table's name as payload: every process then refreshes what it caches.
CREATE FUNCTION notify_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_notify('changed', TG_TABLE_NAME);
  RETURN NULL;
END $$;
--> statement-breakpoint
-- Each poll updates the row of its server: free space in each page keeps the update in its page.
ALTER TABLE server_snapshots SET (fillfactor = 50);
--> statement-breakpoint
CREATE TRIGGER servers_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON servers
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER server_snapshots_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON server_snapshots
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER round_sounds_changed AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON round_sounds
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
CREATE TRIGGER penalty_events_changed AFTER INSERT ON penalty_events
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
-- Notifies the delivering process when webhooks are added, removed or re-enabled; its own progress notifies nobody.
CREATE TRIGGER webhooks_changed AFTER INSERT OR UPDATE OF switched_off_at OR DELETE OR TRUNCATE ON webhooks
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
-- Ends cached sign-ins of tokens that were revoked or expire earlier.
CREATE TRIGGER api_tokens_changed AFTER UPDATE OF revoked_at, expires_at, token_hash OR DELETE OR TRUNCATE ON api_tokens
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
--> statement-breakpoint
-- Flags decide who may have a sound, a block ends tokens and streams, and roles on Discord follow flags and links.
CREATE TRIGGER users_changed AFTER INSERT OR UPDATE OF is_admin, is_owner, is_moderator, has_svip, is_serviceplus, blocked_at, discord_id OR DELETE OR TRUNCATE ON users
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
