CREATE TYPE "public"."penalty_status" AS ENUM('ACTIVE', 'EXPIRED', 'UNBANNED');--> statement-breakpoint
CREATE TYPE "public"."penalty_type" AS ENUM('ban', 'mute', 'gag', 'silence', 'warn');--> statement-breakpoint
CREATE TYPE "public"."penalty_event_type" AS ENUM('penalty.created', 'penalty.changed', 'penalty.lifted', 'penalty.expired', 'penalty.removed');--> statement-breakpoint
CREATE TYPE "public"."round_sound_status" AS ENUM('queued', 'measuring', 'rendering', 'ready', 'failed');--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "api_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"user_id" integer NOT NULL,
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"last_four" text NOT NULL,
	"scopes" text[] DEFAULT '{"servers","penalties","lookup","events"}' NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_tokens_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id_hash" text PRIMARY KEY NOT NULL,
	"user_id" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL,
	"browser" text,
	"system" text
);
--> statement-breakpoint
CREATE TABLE "used_nonces" (
	"nonce" text PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "user_flags" (
	"steamid64" bigint NOT NULL,
	"flag" text NOT NULL,
	"source" text NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "user_flags_steamid64_flag_source_pk" PRIMARY KEY("steamid64","flag","source")
);
--> statement-breakpoint
CREATE TABLE "users" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "users_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"steamid64" bigint NOT NULL,
	"nickname" text DEFAULT '' NOT NULL,
	"avatar_url" text DEFAULT '' NOT NULL,
	"discord_id" bigint,
	"discord_username" text DEFAULT '' NOT NULL,
	"discord_avatar" text DEFAULT '' NOT NULL,
	"hides_discord" boolean DEFAULT false NOT NULL,
	"is_admin" boolean DEFAULT false NOT NULL,
	"is_owner" boolean DEFAULT false NOT NULL,
	"is_moderator" boolean DEFAULT false NOT NULL,
	"has_svip" boolean DEFAULT false NOT NULL,
	"is_serviceplus" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"signed_in_at" timestamp (3) with time zone,
	"blocked_at" timestamp (3) with time zone,
	"block_reason" text DEFAULT '' NOT NULL,
	CONSTRAINT "users_steamid64_unique" UNIQUE("steamid64"),
	CONSTRAINT "users_discord_id_unique" UNIQUE("discord_id")
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor_user_id" integer,
	"actor" text,
	"action" text NOT NULL,
	"subject" text DEFAULT '' NOT NULL,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL
);
--> statement-breakpoint
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
CREATE TABLE "discord_members" (
	"discord_id" bigint PRIMARY KEY NOT NULL,
	"roles" bigint[] NOT NULL,
	"read_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "live_status_messages" (
	"message_id" bigint PRIMARY KEY NOT NULL,
	"channel_id" bigint NOT NULL,
	"guild_id" bigint,
	"server_id" integer,
	"locale" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "erased_people" (
	"id_hash" text PRIMARY KEY NOT NULL,
	"secret_id" text NOT NULL,
	"stays_anonymous" boolean DEFAULT true NOT NULL,
	"erased_at" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "penalties" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "penalties_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" "penalty_type" NOT NULL,
	"status" "penalty_status" NOT NULL,
	"player_name" text DEFAULT '' NOT NULL,
	"player_steamid" bigint NOT NULL,
	"admin_name" text DEFAULT '' NOT NULL,
	"admin_steamid" bigint NOT NULL,
	"reason" text DEFAULT '' NOT NULL,
	"duration_minutes" integer NOT NULL,
	"server_id" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"lifted_at" timestamp (3) with time zone,
	"lifted_by_name" text,
	"lifted_by_steamid" bigint,
	"lift_reason" text,
	"source" text,
	"source_table" text,
	"source_id" text,
	"gone_at" timestamp (3) with time zone,
	CONSTRAINT "penalties_times" CHECK ((created_at >= '1971-01-01 00:00:00+00' and created_at < '10000-01-01 00:00:00+00') and (ends_at >= '1971-01-01 00:00:00+00' and ends_at < '10000-01-01 00:00:00+00') and (lifted_at >= '1971-01-01 00:00:00+00' and lifted_at < '10000-01-01 00:00:00+00'))
);
--> statement-breakpoint
CREATE TABLE "penalty_tallies" (
	"scope" smallint NOT NULL,
	"server_id" integer NOT NULL,
	"admin_steamid" bigint NOT NULL,
	"period" smallint NOT NULL,
	"bucket" date NOT NULL,
	"counts" integer[] NOT NULL,
	CONSTRAINT "penalty_tallies_scope_server_id_admin_steamid_period_bucket_pk" PRIMARY KEY("scope","server_id","admin_steamid","period","bucket")
);
--> statement-breakpoint
CREATE TABLE "penalty_event_state" (
	"is_only" boolean PRIMARY KEY DEFAULT true NOT NULL,
	"epoch" text NOT NULL,
	"expired_up_to" timestamp (3) with time zone NOT NULL,
	"pruned_up_to" bigint DEFAULT 0 NOT NULL,
	CONSTRAINT "penalty_event_state_only" CHECK ("penalty_event_state"."is_only")
);
--> statement-breakpoint
CREATE TABLE "penalty_events" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "penalty_events_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"type" "penalty_event_type" NOT NULL,
	"occurred_at" timestamp (3) with time zone NOT NULL,
	"is_silent" boolean NOT NULL,
	"is_deleted" boolean DEFAULT false NOT NULL,
	"penalty_id" bigint NOT NULL,
	"penalty_type" "penalty_type" NOT NULL,
	"status" "penalty_status" NOT NULL,
	"player_name" text NOT NULL,
	"player_steamid" bigint NOT NULL,
	"admin_name" text NOT NULL,
	"admin_steamid" bigint NOT NULL,
	"reason" text NOT NULL,
	"duration_minutes" integer NOT NULL,
	"server_id" integer NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"ends_at" timestamp (3) with time zone,
	"lifted_at" timestamp (3) with time zone,
	"lifted_by_name" text,
	"lifted_by_steamid" bigint,
	"lift_reason" text
);
--> statement-breakpoint
CREATE TABLE "penalty_sources" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"address" text NOT NULL,
	"prefix" text DEFAULT '' NOT NULL,
	"completed_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "server_aliases" (
	"source" text NOT NULL,
	"source_server_id" text NOT NULL,
	"server_id" integer NOT NULL,
	CONSTRAINT "server_aliases_source_source_server_id_pk" PRIMARY KEY("source","source_server_id")
);
--> statement-breakpoint
CREATE TABLE "player_names" (
	"steamid64" bigint NOT NULL,
	"is_nickname" boolean NOT NULL,
	"name" text NOT NULL,
	"folded" text NOT NULL,
	"grams" integer[] NOT NULL,
	CONSTRAINT "player_names_steamid64_is_nickname_name_pk" PRIMARY KEY("steamid64","is_nickname","name")
);
--> statement-breakpoint
CREATE TABLE "round_sounds" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "round_sounds_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"steamid64" bigint NOT NULL,
	"status" "round_sound_status" DEFAULT 'queued' NOT NULL,
	"title" text NOT NULL,
	"upload_key" text NOT NULL,
	"failure" text,
	"start_ms" integer DEFAULT 0 NOT NULL,
	"start_from" text DEFAULT 'first_sound' NOT NULL,
	"attempts" smallint DEFAULT 0 NOT NULL,
	"failures" smallint DEFAULT 0 NOT NULL,
	"claimed_until" timestamp (3) with time zone,
	"sha256" text,
	"size_bytes" integer,
	"voice_sha256" text,
	"voice_size_bytes" integer,
	"voice_attempts" smallint DEFAULT 0 NOT NULL,
	"loudness_before_lufs" real,
	"loudness_after_lufs" real,
	"duration_ms" integer,
	"waveform" smallint[],
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ready_at" timestamp (3) with time zone,
	CONSTRAINT "round_sounds_upload_key_unique" UNIQUE("upload_key")
);
--> statement-breakpoint
CREATE TABLE "server_map_periods" (
	"server_id" integer NOT NULL,
	"map" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "server_map_periods_server_id_started_at_pk" PRIMARY KEY("server_id","started_at")
);
--> statement-breakpoint
CREATE TABLE "server_samples" (
	"server_id" integer NOT NULL,
	"sampled_at" timestamp (3) with time zone NOT NULL,
	"period_seconds" smallint DEFAULT 0 NOT NULL,
	"players_average" real NOT NULL,
	"players_maximum" smallint NOT NULL,
	"max_players" smallint NOT NULL,
	"online_share" real NOT NULL,
	CONSTRAINT "server_samples_server_id_sampled_at_period_seconds_pk" PRIMARY KEY("server_id","sampled_at","period_seconds")
);
--> statement-breakpoint
CREATE TABLE "server_snapshots" (
	"server_id" integer PRIMARY KEY NOT NULL,
	"is_online" boolean NOT NULL,
	"hostname" text DEFAULT '' NOT NULL,
	"map" text DEFAULT '' NOT NULL,
	"players_count" integer DEFAULT 0 NOT NULL,
	"max_players" integer DEFAULT 0 NOT NULL,
	"ping_ms" integer DEFAULT 0 NOT NULL,
	"players" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"missed_polls" integer DEFAULT 0 NOT NULL,
	"polled_at" timestamp (3) with time zone NOT NULL,
	"seen_at" timestamp (3) with time zone,
	"full_since" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "servers" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "servers_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"slug" text NOT NULL,
	"name" text NOT NULL,
	"address" text NOT NULL,
	"mode" text DEFAULT '' NOT NULL,
	"region" text DEFAULT '' NOT NULL,
	"is_hidden" boolean DEFAULT false NOT NULL,
	"position" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "servers_slug_unique" UNIQUE("slug"),
	CONSTRAINT "servers_address_unique" UNIQUE("address")
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "staff_notes" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "staff_notes_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"steamid64" bigint NOT NULL,
	"author_user_id" integer,
	"text" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "steam_bans" (
	"steamid64" bigint PRIMARY KEY NOT NULL,
	"vac_bans" integer NOT NULL,
	"game_bans" integer NOT NULL,
	"days_since_last_ban" integer NOT NULL,
	"is_community_banned" boolean NOT NULL,
	"checked_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "steam_calls" (
	"day" date PRIMARY KEY DEFAULT (now() at time zone 'UTC')::date NOT NULL,
	"calls" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "webhook_deliveries" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "webhook_deliveries_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"webhook_id" integer NOT NULL,
	"message_id" text NOT NULL,
	"type" text NOT NULL,
	"at" timestamp (3) with time zone NOT NULL,
	"duration_ms" integer NOT NULL,
	"status" integer,
	"failure" text
);
--> statement-breakpoint
CREATE TABLE "webhooks" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "webhooks_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"url" text NOT NULL,
	"types" "penalty_event_type"[],
	"secret" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL,
	"starts_after" bigint DEFAULT 0 NOT NULL,
	"delivered_up_to" bigint NOT NULL,
	"failures" integer DEFAULT 0 NOT NULL,
	"retry_at" timestamp (3) with time zone,
	"switched_off_at" timestamp (3) with time zone,
	"switched_off_reason" text
);
--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_actor_user_id_users_id_fk" FOREIGN KEY ("actor_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feed_posts" ADD CONSTRAINT "discord_feed_posts_feed_id_discord_feeds_id_fk" FOREIGN KEY ("feed_id") REFERENCES "public"."discord_feeds"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD CONSTRAINT "discord_feed_servers_feed_id_discord_feeds_id_fk" FOREIGN KEY ("feed_id") REFERENCES "public"."discord_feeds"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feed_servers" ADD CONSTRAINT "discord_feed_servers_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "discord_feeds" ADD CONSTRAINT "discord_feeds_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_aliases" ADD CONSTRAINT "server_aliases_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_map_periods" ADD CONSTRAINT "server_map_periods_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_samples" ADD CONSTRAINT "server_samples_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_snapshots" ADD CONSTRAINT "server_snapshots_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "staff_notes" ADD CONSTRAINT "staff_notes_author_user_id_users_id_fk" FOREIGN KEY ("author_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "webhook_deliveries" ADD CONSTRAINT "webhook_deliveries_webhook_id_webhooks_id_fk" FOREIGN KEY ("webhook_id") REFERENCES "public"."webhooks"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_tokens_user" ON "api_tokens" USING btree ("user_id","id");--> statement-breakpoint
CREATE INDEX "api_tokens_unrevoked" ON "api_tokens" USING btree ("user_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "api_tokens_ended" ON "api_tokens" USING btree (least(revoked_at, expires_at));--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "sessions_expires" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "used_nonces_expires" ON "used_nonces" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "user_flags_ends" ON "user_flags" USING btree ("ends_at") WHERE ends_at is not null;--> statement-breakpoint
CREATE INDEX "users_created" ON "users" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "users_signed_in" ON "users" USING btree ("signed_in_at");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "audit_log_subject" ON "audit_log" USING btree ("subject");--> statement-breakpoint
CREATE INDEX "audit_log_actor" ON "audit_log" USING btree ("actor_user_id") WHERE actor_user_id is not null;--> statement-breakpoint
CREATE INDEX "discord_feed_posts_due" ON "discord_feed_posts" USING btree ("feed_id","edit_event_id") WHERE edit_event_id is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "penalties_source" ON "penalties" USING btree ("source","source_table","source_id");--> statement-breakpoint
CREATE INDEX "penalties_created" ON "penalties" USING btree ("created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_type_status" ON "penalties" USING btree ("type","status","created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_ends" ON "penalties" USING btree ("ends_at","id","type","status","created_at");--> statement-breakpoint
CREATE INDEX "penalties_player" ON "penalties" USING btree ("player_steamid","created_at","id","type");--> statement-breakpoint
CREATE INDEX "penalties_admin" ON "penalties" USING btree ("admin_steamid","created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_server" ON "penalties" USING btree ("server_id","created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_server_admin" ON "penalties" USING btree ("server_id","admin_steamid","created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_lifter" ON "penalties" USING btree ("lifted_by_steamid") WHERE lifted_by_steamid is not null;--> statement-breakpoint
CREATE INDEX "penalties_active_player" ON "penalties" USING btree ("player_steamid","type","ends_at") WHERE status = 'ACTIVE';--> statement-breakpoint
CREATE INDEX "penalties_due" ON "penalties" USING btree ("ends_at","type","created_at","server_id","admin_steamid","player_steamid") WHERE status = 'ACTIVE' and ends_at is not null;--> statement-breakpoint
CREATE INDEX "penalty_events_player" ON "penalty_events" USING btree ("player_steamid");--> statement-breakpoint
CREATE INDEX "penalty_events_admin" ON "penalty_events" USING btree ("admin_steamid");--> statement-breakpoint
CREATE INDEX "penalty_events_lifter" ON "penalty_events" USING btree ("lifted_by_steamid") WHERE lifted_by_steamid is not null;--> statement-breakpoint
CREATE INDEX "player_names_grams" ON "player_names" USING gin ("grams") WITH (gin_pending_list_limit=512);--> statement-breakpoint
CREATE UNIQUE INDEX "round_sounds_ready" ON "round_sounds" USING btree ("steamid64") WHERE status = 'ready';--> statement-breakpoint
CREATE INDEX "round_sounds_player" ON "round_sounds" USING btree ("steamid64","id");--> statement-breakpoint
CREATE INDEX "round_sounds_voiceless" ON "round_sounds" USING btree ("id") WHERE status = 'ready' and voice_sha256 is null;--> statement-breakpoint
CREATE INDEX "round_sounds_queue" ON "round_sounds" USING btree ("id") WHERE status in ('queued', 'measuring', 'rendering');--> statement-breakpoint
CREATE INDEX "server_samples_raw" ON "server_samples" USING btree ("sampled_at") WHERE period_seconds = 0;--> statement-breakpoint
CREATE INDEX "staff_notes_player" ON "staff_notes" USING btree ("steamid64","created_at");--> statement-breakpoint
CREATE INDEX "staff_notes_author" ON "staff_notes" USING btree ("author_user_id");--> statement-breakpoint
CREATE INDEX "steam_bans_checked" ON "steam_bans" USING btree ("checked_at");--> statement-breakpoint
CREATE INDEX "webhook_deliveries_of" ON "webhook_deliveries" USING btree ("webhook_id","id");