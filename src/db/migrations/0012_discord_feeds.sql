CREATE TABLE "discord_feed_posts" (
	"feed_id" integer NOT NULL,
	"penalty_id" bigint NOT NULL,
	"message_id" bigint NOT NULL,
	"edit_event_id" bigint,
	CONSTRAINT "discord_feed_posts_feed_id_penalty_id_pk" PRIMARY KEY("feed_id","penalty_id")
);
--> statement-breakpoint
CREATE TABLE "discord_feed_servers" (
	"feed_id" integer NOT NULL,
	"server_id" integer NOT NULL,
	"is_online" boolean NOT NULL,
	"has_players" boolean NOT NULL,
	"called_at" timestamp (3) with time zone,
	"pending" text,
	"pending_since" timestamp (3) with time zone,
	CONSTRAINT "discord_feed_servers_feed_id_server_id_pk" PRIMARY KEY("feed_id","server_id")
);
--> statement-breakpoint
CREATE TABLE "discord_feeds" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "discord_feeds_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"subject" text NOT NULL,
	"channel_id" bigint NOT NULL,
	"guild_id" bigint NOT NULL,
	"started_by" bigint NOT NULL,
	"locale" text NOT NULL,
	"penalty_types" "penalty_type"[],
	"server_id" integer,
	"players_at_least" smallint,
	"role_id" bigint,
	"epoch" text NOT NULL,
	"cursor" bigint NOT NULL,
	"posting_up_to" bigint,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "discord_feeds_one_each" UNIQUE("channel_id","subject")
);
--> statement-breakpoint
ALTER TABLE "discord_feed_posts" ADD CONSTRAINT "discord_feed_posts_feed_id_discord_feeds_id_fk" FOREIGN KEY ("feed_id") REFERENCES "public"."discord_feeds"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD CONSTRAINT "discord_feed_servers_feed_id_discord_feeds_id_fk" FOREIGN KEY ("feed_id") REFERENCES "public"."discord_feeds"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD CONSTRAINT "discord_feed_servers_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD CONSTRAINT "discord_feeds_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "discord_feed_posts_due" ON "discord_feed_posts" USING btree ("feed_id","edit_event_id") WHERE edit_event_id is not null;