CREATE TYPE "public"."penalty_status" AS ENUM('ACTIVE', 'EXPIRED', 'UNBANNED');--> statement-breakpoint
CREATE TYPE "public"."penalty_type" AS ENUM('ban', 'mute', 'gag', 'silence', 'warn');--> statement-breakpoint
CREATE TYPE "public"."round_sound_status" AS ENUM('queued', 'measuring', 'rendering', 'ready', 'failed');--> statement-breakpoint
CREATE TABLE "api_tokens" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "api_tokens_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"user_id" integer NOT NULL,
	"name" text NOT NULL,
	"token_hash" text NOT NULL,
	"last_four" text NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone,
	"last_used_at" timestamp (3) with time zone,
	"revoked_at" timestamp (3) with time zone,
	CONSTRAINT "api_tokens_token_hash_unique" UNIQUE("token_hash")
);
--> statement-breakpoint
CREATE TABLE "audit_log" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "audit_log_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"actor_user_id" integer,
	"action" text NOT NULL,
	"subject" text DEFAULT '' NOT NULL,
	"details" jsonb DEFAULT '{}'::jsonb NOT NULL
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
	"gone_at" timestamp (3) with time zone
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
CREATE TABLE "round_sounds" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "round_sounds_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"steamid64" bigint NOT NULL,
	"status" "round_sound_status" DEFAULT 'queued' NOT NULL,
	"title" text NOT NULL,
	"failure" text,
	"loudness_before_lufs" real,
	"loudness_after_lufs" real,
	"duration_ms" integer,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"ready_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE TABLE "server_aliases" (
	"source" text NOT NULL,
	"source_server_id" text NOT NULL,
	"server_id" integer NOT NULL,
	CONSTRAINT "server_aliases_source_source_server_id_pk" PRIMARY KEY("source","source_server_id")
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
	"seen_at" timestamp (3) with time zone
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
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "servers_slug_unique" UNIQUE("slug"),
	CONSTRAINT "servers_address_unique" UNIQUE("address")
);
--> statement-breakpoint
CREATE TABLE "sessions" (
	"id_hash" text PRIMARY KEY NOT NULL,
	"user_id" integer NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"seen_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "settings" (
	"key" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "used_nonces" (
	"nonce" text PRIMARY KEY NOT NULL,
	"expires_at" timestamp (3) with time zone NOT NULL
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
	"is_admin" boolean DEFAULT false NOT NULL,
	"is_owner" boolean DEFAULT false NOT NULL,
	"has_svip" boolean DEFAULT false NOT NULL,
	"is_serviceplus" boolean DEFAULT false NOT NULL,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "users_steamid64_unique" UNIQUE("steamid64"),
	CONSTRAINT "users_discord_id_unique" UNIQUE("discord_id")
);
--> statement-breakpoint
ALTER TABLE "api_tokens" ADD CONSTRAINT "api_tokens_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "audit_log" ADD CONSTRAINT "audit_log_actor_user_id_users_id_fk" FOREIGN KEY ("actor_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "live_status_messages" ADD CONSTRAINT "live_status_messages_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_aliases" ADD CONSTRAINT "server_aliases_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_samples" ADD CONSTRAINT "server_samples_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "server_snapshots" ADD CONSTRAINT "server_snapshots_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
ALTER TABLE "sessions" ADD CONSTRAINT "sessions_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;--> statement-breakpoint
CREATE INDEX "api_tokens_user" ON "api_tokens" USING btree ("user_id");--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at" DESC NULLS LAST);--> statement-breakpoint
CREATE UNIQUE INDEX "penalties_source" ON "penalties" USING btree ("source","source_table","source_id");--> statement-breakpoint
CREATE INDEX "penalties_created" ON "penalties" USING btree ("created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "penalties_type_status" ON "penalties" USING btree ("type","status","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "penalties_player" ON "penalties" USING btree ("player_steamid","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "penalties_admin" ON "penalties" USING btree ("admin_steamid","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "penalties_server" ON "penalties" USING btree ("server_id","created_at" DESC NULLS LAST,"id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "penalties_due" ON "penalties" USING btree ("ends_at") WHERE status = 'ACTIVE' and ends_at is not null;--> statement-breakpoint
CREATE UNIQUE INDEX "round_sounds_ready" ON "round_sounds" USING btree ("steamid64") WHERE status = 'ready';--> statement-breakpoint
CREATE INDEX "round_sounds_queue" ON "round_sounds" USING btree ("created_at") WHERE status in ('queued', 'measuring', 'rendering');--> statement-breakpoint
CREATE INDEX "server_samples_raw" ON "server_samples" USING btree ("sampled_at") WHERE period_seconds = 0;--> statement-breakpoint
CREATE INDEX "sessions_user" ON "sessions" USING btree ("user_id");