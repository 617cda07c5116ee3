DROP INDEX "penalties_player";--> statement-breakpoint
CREATE INDEX "penalties_player" ON "penalties" USING btree ("player_steamid","created_at","id","type");