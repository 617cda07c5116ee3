DROP INDEX "penalties_active_bans";--> statement-breakpoint
CREATE INDEX "penalties_active" ON "penalties" USING btree ("player_steamid") WHERE status = 'ACTIVE';