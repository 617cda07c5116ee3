DROP INDEX "api_tokens_user";--> statement-breakpoint
ALTER TABLE "audit_log" ADD COLUMN "actor" text;--> statement-breakpoint
-- Without the default at first: of the users who are here already nobody wrote down who gave them their flags.
ALTER TABLE "users" ADD COLUMN "admin_by_config" boolean;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "admin_by_config" SET DEFAULT false;--> statement-breakpoint
ALTER TABLE "users" ADD COLUMN "owner_by_config" boolean;--> statement-breakpoint
ALTER TABLE "users" ALTER COLUMN "owner_by_config" SET DEFAULT false;--> statement-breakpoint
CREATE INDEX "api_tokens_unrevoked" ON "api_tokens" USING btree ("user_id") WHERE revoked_at is null;--> statement-breakpoint
CREATE INDEX "api_tokens_ended" ON "api_tokens" USING btree (least(revoked_at, expires_at));--> statement-breakpoint
CREATE INDEX "sessions_expires" ON "sessions" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "used_nonces_expires" ON "used_nonces" USING btree ("expires_at");--> statement-breakpoint
CREATE INDEX "users_created" ON "users" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "api_tokens_user" ON "api_tokens" USING btree ("user_id","id");