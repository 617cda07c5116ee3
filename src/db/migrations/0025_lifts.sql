CREATE TABLE "pending_lifts" (
	"penalty_id" bigint PRIMARY KEY NOT NULL,
	"user_id" integer,
	"reason" text NOT NULL,
	"begun_at" timestamp (3) with time zone NOT NULL,
	"outcome" text
);
--> statement-breakpoint
ALTER TABLE "pending_lifts" ADD CONSTRAINT "pending_lifts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;