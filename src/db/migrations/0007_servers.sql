ALTER TABLE "servers" ADD COLUMN "public_address" text;
--> statement-breakpoint
ALTER TABLE "servers" ADD CONSTRAINT "servers_public_address_unique" UNIQUE("public_address");
--> statement-breakpoint
CREATE TABLE "removed_servers" (
	"address" text PRIMARY KEY NOT NULL,
	"server_id" integer NOT NULL
);
