DROP INDEX "penalties_created";--> statement-breakpoint
DROP INDEX "penalties_admin";--> statement-breakpoint
DROP INDEX "penalties_server";--> statement-breakpoint
DROP INDEX "penalties_due";--> statement-breakpoint
CREATE INDEX "penalties_created" ON "penalties" USING btree ("created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_admin" ON "penalties" USING btree ("admin_steamid","created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_server" ON "penalties" USING btree ("server_id","created_at","id","type","status","ends_at");--> statement-breakpoint
CREATE INDEX "penalties_due" ON "penalties" USING btree ("ends_at","type","created_at","server_id","admin_steamid","player_steamid") WHERE status = 'ACTIVE' and ends_at is not null;