CREATE TABLE "server_map_periods" (
	"server_id" integer NOT NULL,
	"map" text NOT NULL,
	"started_at" timestamp (3) with time zone NOT NULL,
	"ended_at" timestamp (3) with time zone NOT NULL,
	CONSTRAINT "server_map_periods_server_id_started_at_pk" PRIMARY KEY("server_id","started_at")
);
--> statement-breakpoint
ALTER TABLE "server_map_periods" ADD CONSTRAINT "server_map_periods_server_id_servers_id_fk" FOREIGN KEY ("server_id") REFERENCES "public"."servers"("id") ON DELETE cascade ON UPDATE no action;