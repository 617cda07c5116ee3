ALTER TABLE "discord_feeds" ADD COLUMN "after_minutes" smallint DEFAULT 3 NOT NULL;--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD COLUMN "paused_at" timestamp (3) with time zone;