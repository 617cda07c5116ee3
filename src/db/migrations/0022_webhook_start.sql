ALTER TABLE "webhooks" ADD COLUMN "starts_after" bigint DEFAULT 0 NOT NULL;--> statement-breakpoint
-- Webhooks from before this column: by time, as messages were found until now.
UPDATE webhooks SET starts_after = coalesce(
  (SELECT max(id) FROM penalty_events WHERE occurred_at < webhooks.created_at),
  (SELECT pruned_up_to FROM penalty_event_state));
