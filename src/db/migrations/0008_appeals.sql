ALTER TYPE "public"."penalty_event_type" ADD VALUE 'appeal.opened';
--> statement-breakpoint
ALTER TYPE "public"."penalty_event_type" ADD VALUE 'appeal.answered';
--> statement-breakpoint
ALTER TYPE "public"."penalty_event_type" ADD VALUE 'appeal.decided';
--> statement-breakpoint
CREATE TABLE "appeal_messages" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "appeal_messages_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"appeal_id" integer NOT NULL,
	"kind" text NOT NULL,
	"author_user_id" integer,
	"text" text NOT NULL,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "appeals" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "appeals_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"penalty_id" bigint NOT NULL,
	"player_steamid" bigint NOT NULL,
	"state" text DEFAULT 'undecided' NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"decided_at" timestamp (3) with time zone,
	"wants_messages" boolean NOT NULL,
	"unsent_news" text,
	"locale" text DEFAULT 'en' NOT NULL,
	"ending" text,
	"waits_for" text,
	"waiting_since" timestamp (3) with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
ALTER TABLE "staff_notes" ADD COLUMN "penalty_id" bigint;
--> statement-breakpoint
ALTER TABLE "appeal_messages" ADD CONSTRAINT "appeal_messages_appeal_id_appeals_id_fk" FOREIGN KEY ("appeal_id") REFERENCES "public"."appeals"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
ALTER TABLE "appeal_messages" ADD CONSTRAINT "appeal_messages_author_user_id_users_id_fk" FOREIGN KEY ("author_user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
CREATE INDEX "appeal_messages_appeal" ON "appeal_messages" USING btree ("appeal_id","id");
--> statement-breakpoint
CREATE INDEX "appeal_messages_author" ON "appeal_messages" USING btree ("author_user_id");
--> statement-breakpoint
CREATE UNIQUE INDEX "appeals_undecided" ON "appeals" USING btree ("penalty_id") WHERE state = 'undecided';
--> statement-breakpoint
CREATE INDEX "appeals_penalty" ON "appeals" USING btree ("penalty_id");
--> statement-breakpoint
CREATE INDEX "appeals_player" ON "appeals" USING btree ("player_steamid");
--> statement-breakpoint
CREATE INDEX "appeals_unsent_news" ON "appeals" USING btree ("id") WHERE unsent_news is not null;
--> statement-breakpoint
CREATE INDEX "staff_notes_penalty" ON "staff_notes" USING btree ("penalty_id") WHERE penalty_id is not null;
--> statement-breakpoint
CREATE INDEX "appeals_waiting" ON "appeals" USING btree ("waits_for","waiting_since","id");
--> statement-breakpoint
CREATE INDEX "appeals_over" ON "appeals" USING btree ("decided_at","id") WHERE waits_for is null;
--> statement-breakpoint
CREATE TABLE "pending_lifts" (
	"penalty_id" bigint PRIMARY KEY NOT NULL,
	"user_id" integer,
	"reason" text NOT NULL,
	"begun_at" timestamp (3) with time zone NOT NULL,
	"outcome" text
);
--> statement-breakpoint
ALTER TABLE "pending_lifts" ADD CONSTRAINT "pending_lifts_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE set null ON UPDATE no action;
--> statement-breakpoint
CREATE TABLE "erased_appeals" (
	"id" integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "erased_appeals_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 2147483647 START WITH 1 CACHE 1),
	"id_hash" text NOT NULL,
	"penalty_id" bigint,
	"state" text NOT NULL,
	"opened_at" timestamp (3) with time zone NOT NULL,
	"decided_at" timestamp (3) with time zone
);
--> statement-breakpoint
CREATE INDEX "erased_appeals_player" ON "erased_appeals" USING btree ("id_hash");
