ALTER TABLE "appeals" ADD COLUMN "ending" text;--> statement-breakpoint
ALTER TABLE "appeals" ADD COLUMN "waits_for" text;--> statement-breakpoint
ALTER TABLE "appeals" ADD COLUMN "waiting_since" timestamp (3) with time zone;--> statement-breakpoint
UPDATE "appeals" SET
  "ending" = CASE WHEN "carried_out_at" IS NOT NULL THEN 'lifted' WHEN "state" = 'closed' THEN 'expired' END,
  "waits_for" = CASE
    WHEN "state" = 'accepted' AND "carried_out_at" IS NULL THEN 'lift'
    WHEN "state" = 'undecided' THEN CASE (
      SELECT "kind" FROM "appeal_messages" WHERE "appeal_id" = "appeals"."id" ORDER BY "id" DESC LIMIT 1
    ) WHEN 'asked' THEN 'player' ELSE 'staff' END
  END,
  "waiting_since" = coalesce("decided_at", "opened_at");--> statement-breakpoint
ALTER TABLE "appeals" ALTER COLUMN "waiting_since" SET DEFAULT now();--> statement-breakpoint
ALTER TABLE "appeals" ALTER COLUMN "waiting_since" SET NOT NULL;--> statement-breakpoint
CREATE INDEX "appeals_waiting" ON "appeals" USING btree ("waits_for","waiting_since","id");--> statement-breakpoint
CREATE INDEX "appeals_over" ON "appeals" USING btree ("decided_at","id") WHERE waits_for is null;--> statement-breakpoint
ALTER TABLE "appeals" DROP COLUMN "carried_out_at";
