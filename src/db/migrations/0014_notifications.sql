CREATE TABLE "discord_notifications" (
	"discord_id" bigint NOT NULL,
	"server_id" integer NOT NULL,
	"players_at_least" smallint NOT NULL,
	"locale" text NOT NULL,
	"is_armed" boolean NOT NULL,
	"notified_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "discord_notifications_discord_id_server_id_pk" PRIMARY KEY("discord_id","server_id")
);
--> statement-breakpoint
ALTER TABLE "discord_notifications" ADD CONSTRAINT "discord_notifications_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;