DROP INDEX "round_sounds_queue";--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "upload_key" text NOT NULL;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "attempts" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "claimed_until" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "sha256" text;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "waveform" smallint[];--> statement-breakpoint
CREATE INDEX "round_sounds_player" ON "round_sounds" USING btree ("steamid64","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "round_sounds_queue" ON "round_sounds" USING btree ("id") WHERE status in ('queued', 'measuring', 'rendering');--> statement-breakpoint
ALTER TABLE "round_sounds" ADD CONSTRAINT "round_sounds_upload_key_unique" UNIQUE("upload_key");