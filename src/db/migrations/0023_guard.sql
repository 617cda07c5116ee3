ALTER TABLE "held_removals" ADD COLUMN "counts" jsonb DEFAULT '[]'::jsonb NOT NULL;--> statement-breakpoint
ALTER TABLE "held_removals" ADD COLUMN "confirmations" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "held_removals" ADD COLUMN "confirmed_at" timestamp (3) with time zone;