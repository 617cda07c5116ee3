CREATE TABLE "discord_appeal_posts" (
	"feed_id" integer NOT NULL,
	"appeal_id" integer NOT NULL,
	"message_id" bigint NOT NULL,
	"shown" text NOT NULL,
	CONSTRAINT "discord_appeal_posts_feed_id_appeal_id_pk" PRIMARY KEY("feed_id","appeal_id")
);
--> statement-breakpoint
ALTER TABLE "discord_appeal_posts" ADD CONSTRAINT "discord_appeal_posts_feed_id_discord_feeds_id_fk" FOREIGN KEY ("feed_id") REFERENCES "public"."discord_feeds"("id") ON DELETE cascade ON UPDATE no action;