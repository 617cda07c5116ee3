-- Processes of 1.0.0 go on meanwhile. Some of their writers lock the table first, others this advisory lock: both waits
-- together are shorter than deadlock_timeout (1 s), so that PostgreSQL never ends one of them in favour of the migration,
-- which is tried again (src/db/migrate.ts). The shorter limit stays, for the tables that the next migrations change.
SET LOCAL lock_timeout = '800ms';
--> statement-breakpoint
LOCK TABLE penalties;
--> statement-breakpoint
SET LOCAL lock_timeout = '100ms';
--> statement-breakpoint
SELECT pg_advisory_xact_lock(hashtext('penalty_tallies'));
--> statement-breakpoint
DROP INDEX "round_sounds_voiceless";