CREATE TABLE "held_removals" (
	"system" text NOT NULL,
	"kind" text NOT NULL,
	"subject" text NOT NULL,
	"removals" integer NOT NULL,
	"since" timestamp (3) with time zone NOT NULL,
	"is_accepted" boolean DEFAULT false NOT NULL,
	CONSTRAINT "held_removals_system_kind_subject_pk" PRIMARY KEY("system","kind","subject")
);
