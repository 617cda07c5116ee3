CREATE TABLE "discord_penalty_news" (
	"user_id" integer PRIMARY KEY NOT NULL,
	"locale" text NOT NULL,
	"up_to_event" bigint NOT NULL,
	"ended_at" timestamp (3) with time zone
);
--> statement-breakpoint
ALTER TABLE "discord_penalty_news" ADD CONSTRAINT "discord_penalty_news_user_id_users_id_fk" FOREIGN KEY ("user_id") REFERENCES "public"."users"("id") ON DELETE cascade ON UPDATE no action;
--> statement-breakpoint
-- Direct messages about somebody's penalties end with the link to the Discord account that gets them.
CREATE FUNCTION end_penalty_news() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM discord_penalty_news WHERE user_id = NEW.id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_penalty_news AFTER UPDATE OF discord_id ON users
  FOR EACH ROW WHEN (OLD.discord_id IS DISTINCT FROM NEW.discord_id) EXECUTE FUNCTION end_penalty_news();
