CREATE TABLE "removed_servers" (
	"address" text PRIMARY KEY NOT NULL,
	"server_id" integer NOT NULL
);
