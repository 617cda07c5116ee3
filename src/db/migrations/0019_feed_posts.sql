ALTER TABLE "discord_feed_posts" ADD COLUMN "replied_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD COLUMN "down_at" timestamp (3) with time zone[] DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD COLUMN "reminded_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "live_status_messages" ADD COLUMN "pinned_by" bigint;--> statement-breakpoint
ALTER TABLE "live_status_messages" ADD COLUMN "paused_at" timestamp (3) with time zone;--> statement-breakpoint
INSERT INTO "discord_feed_posts" ("feed_id", "penalty_id", "message_id", "edit_event_id")
  SELECT "feed_id", "appeal_id", "message_id", 0 FROM "discord_appeal_posts";--> statement-breakpoint
DROP TABLE "discord_appeal_posts" CASCADE;--> statement-breakpoint
-- A deleted appeal causes no event. Its messages name the player and are edited once more.
CREATE FUNCTION mark_posts_of_deleted_appeals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE discord_feed_posts SET edit_event_id = 0
    FROM discord_feeds, removed
    WHERE discord_feeds.id = discord_feed_posts.feed_id AND discord_feeds.subject = 'appeals'
      AND discord_feed_posts.penalty_id = removed.id;
  RETURN NULL;
END $$;--> statement-breakpoint
CREATE TRIGGER mark_posts_of_deleted_appeals AFTER DELETE ON appeals REFERENCING OLD TABLE AS removed
  FOR EACH STATEMENT EXECUTE FUNCTION mark_posts_of_deleted_appeals();--> statement-breakpoint
-- Until now only the audit log named the person: both rows have the time of one transaction.
UPDATE live_status_messages SET pinned_by = coalesce(users.discord_id, (audit_log.details ->> 'discordId')::bigint)
  FROM audit_log LEFT JOIN users ON users.id = audit_log.actor_user_id
  WHERE audit_log.subject = '#' || live_status_messages.channel_id AND audit_log.action = 'live-message.posted'
    AND audit_log.at = live_status_messages.created_at;
