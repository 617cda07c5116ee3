-- The new index first: dropping one blocks reads until the transaction ends, building one blocks only writes.
CREATE INDEX "penalties_active_player" ON "penalties" USING btree ("player_steamid","type","ends_at") WHERE status = 'ACTIVE';--> statement-breakpoint
DROP INDEX "penalties_active";
