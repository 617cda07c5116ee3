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
CREATE INDEX "steam_bans_checked" ON "steam_bans" USING btree ("checked_at");