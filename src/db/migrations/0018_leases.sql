-- Which process runs the bot, the poller, the mirror, the deliveries: a lease with a deadline and a fencing token.
CREATE TABLE "leases" (
	"name" text PRIMARY KEY NOT NULL,
	"holder" text NOT NULL,
	"token" bigint NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"standby_seen_at" timestamp with time zone
);
