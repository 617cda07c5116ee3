DROP INDEX "audit_log_at";--> statement-breakpoint
DROP INDEX "penalties_created";--> statement-breakpoint
DROP INDEX "penalties_type_status";--> statement-breakpoint
DROP INDEX "penalties_player";--> statement-breakpoint
DROP INDEX "penalties_admin";--> statement-breakpoint
DROP INDEX "penalties_server";--> statement-breakpoint
DROP INDEX "round_sounds_player";--> statement-breakpoint
CREATE INDEX "audit_log_at" ON "audit_log" USING btree ("at");--> statement-breakpoint
CREATE INDEX "penalties_created" ON "penalties" USING btree ("created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_type_status" ON "penalties" USING btree ("type","status","created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_player" ON "penalties" USING btree ("player_steamid","created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_admin" ON "penalties" USING btree ("admin_steamid","created_at","id");--> statement-breakpoint
CREATE INDEX "penalties_server" ON "penalties" USING btree ("server_id","created_at","id");--> statement-breakpoint
CREATE INDEX "round_sounds_player" ON "round_sounds" USING btree ("steamid64","id");