ALTER TABLE "discord_feeds" ADD COLUMN "after_minutes" smallint DEFAULT 3 NOT NULL;
--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD COLUMN "paused_at" timestamp (3) with time zone;
--> statement-breakpoint
ALTER TABLE "discord_members" ALTER COLUMN "roles" SET DEFAULT '{}';
--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "flags" text[];
--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "due_at" timestamp (3) with time zone DEFAULT now() NOT NULL;
--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "failures" smallint DEFAULT 0 NOT NULL;
--> statement-breakpoint
ALTER TABLE "discord_members" ADD COLUMN "problem" text;
--> statement-breakpoint
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
--> statement-breakpoint
-- A member's turn changes only the time of the next one. Without an index on it, and with free space in each page, PostgreSQL
-- updates the row in place: 10,000 members write 64 MB of WAL a day instead of 125 MB.
ALTER TABLE discord_members SET (fillfactor = 50);
--> statement-breakpoint
CREATE TABLE "discord_notifications" (
	"discord_id" bigint NOT NULL,
	"server_id" integer NOT NULL,
	"players_at_least" smallint NOT NULL,
	"locale" text NOT NULL,
	"is_armed" boolean NOT NULL,
	"notified_at" timestamp (3) with time zone,
	"paused_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "discord_notifications_discord_id_server_id_pk" PRIMARY KEY("discord_id","server_id")
);
--> statement-breakpoint
ALTER TABLE "discord_notifications" ADD CONSTRAINT "discord_notifications_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "discord_feed_posts" ADD COLUMN "replied_at" timestamp (3) with time zone;
--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD COLUMN "down_at" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL;
--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD COLUMN "reminded_at" timestamp (3) with time zone;
--> statement-breakpoint
ALTER TABLE "live_status_messages" ADD COLUMN "pinned_by" bigint;
--> statement-breakpoint
ALTER TABLE "live_status_messages" ADD COLUMN "paused_at" timestamp (3) with time zone;
--> statement-breakpoint
-- A deleted appeal causes no event. Its messages name the player and are edited once more.
CREATE FUNCTION mark_posts_of_deleted_appeals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE discord_feed_posts SET edit_event_id = 0
    FROM discord_feeds, removed
    WHERE discord_feeds.id = discord_feed_posts.feed_id AND discord_feeds.subject = 'appeals'
      AND discord_feed_posts.penalty_id = removed.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER mark_posts_of_deleted_appeals AFTER DELETE ON appeals REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION mark_posts_of_deleted_appeals();
--> statement-breakpoint
-- Until now only the audit log named the person: both rows have the time of one transaction.
UPDATE live_status_messages SET pinned_by = coalesce(users.discord_id, (audit_log.details ->> 'discordId')::bigint)
  FROM audit_log LEFT JOIN users ON users.id = audit_log.actor_user_id
  WHERE audit_log.subject = '#' || live_status_messages.channel_id AND audit_log.action = 'live-message.posted'
    AND audit_log.at = live_status_messages.created_at;
--> statement-breakpoint
CREATE TABLE "discord_penalty_news" (
	"user_id" integer PRIMARY KEY NOT NULL,
	"locale" text NOT NULL,
	"up_to_event" bigint NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "discord_penalty_news" ADD CONSTRAINT "discord_penalty_news_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Direct messages about somebody's penalties end with the link to the Discord account that gets them.
CREATE FUNCTION end_penalty_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM discord_penalty_news WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_penalty_news AFTER UPDATE OF discord_id ON users
  FOR EACH ROW WHEN (OLD.discord_id IS DISTINCT FROM NEW.discord_id) EXECUTE FUNCTION end_penalty_news();
