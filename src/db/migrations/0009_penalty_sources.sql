CREATE TABLE "penalty_sources" (
	"name" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"address" text NOT NULL,
	"prefix" text DEFAULT '' NOT NULL
);
