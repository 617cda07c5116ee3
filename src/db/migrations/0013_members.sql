ALTER TABLE "discord_members" ALTER COLUMN "roles" SET DEFAULT '{}';--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "flags" text[];--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "due_at" timestamp (3) with time zone DEFAULT now() NOT NULL;--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "failures" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "problem" text;--> statement-breakpoint
CREATE INDEX "discord_members_due" ON "discord_members" USING btree ("due_at");--> statement-breakpoint
CREATE INDEX "discord_members_problem" ON "discord_members" USING btree ("problem") WHERE problem is not null;
--> statement-breakpoint
-- Roles on Discord follow flags and links: whoever changes is next, before everybody whose turn it is. Only while the bot
-- reads members (it has a sweep) do new links get a row. Named to run after user_linked, which removes an old row.
CREATE FUNCTION user_member() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  next timestamptz := clock_timestamp() - interval '1 year';
BEGIN
  UPDATE discord_members SET due_at = next WHERE discord_id = OLD.discord_id;
  IF NEW.discord_id IS NOT NULL AND NEW.discord_id IS DISTINCT FROM OLD.discord_id THEN
    INSERT INTO discord_members (discord_id, due_at)
      SELECT NEW.discord_id, next FROM settings WHERE key = 'discord_sweep'
      ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_member AFTER INSERT OR UPDATE OF is_owner, is_admin, is_moderator, has_svip, is_serviceplus, discord_id OR DELETE ON users
  FOR EACH ROW EXECUTE FUNCTION user_member();
