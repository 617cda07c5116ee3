ALTER TABLE "round_sounds" ADD COLUMN "start_ms" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "size_bytes" integer;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "voice_sha256" text;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "voice_size_bytes" integer;--> statement-breakpoint
ALTER TABLE "round_sounds" ADD COLUMN "voice_attempts" smallint DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX "round_sounds_voiceless" ON "round_sounds" USING btree ("id") WHERE status = 'ready' and voice_sha256 is null;