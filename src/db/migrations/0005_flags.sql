-- The only place where the flags of users are derived from user_flags.
CREATE FUNCTION derive_flags(ids bigint[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  -- Two transactions that change sources of one user wait for each other here; the update then sees the changes of both.
  PERFORM FROM users WHERE steamid64 = ANY (ids) ORDER BY id FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  UPDATE users SET
    is_owner = derived.is_owner,
    is_admin = derived.is_admin,
    is_moderator = derived.is_moderator,
    has_svip = derived.has_svip,
    is_serviceplus = derived.is_serviceplus
  FROM (
    SELECT
      id.steamid64,
      coalesce(bool_or(flag = 'is_owner'), false) AS is_owner,
      coalesce(bool_or(flag = 'is_admin'), false) AS is_admin,
      coalesce(bool_or(flag = 'is_moderator'), false) AS is_moderator,
      coalesce(bool_or(flag = 'has_svip'), false) AS has_svip,
      coalesce(bool_or(flag = 'is_serviceplus'), false) AS is_serviceplus
    FROM unnest(ids) AS id (steamid64) LEFT JOIN user_flags USING (steamid64)
    GROUP BY id.steamid64
  ) AS derived
  WHERE users.steamid64 = derived.steamid64
    AND (users.is_owner, users.is_admin, users.is_moderator, users.has_svip, users.is_serviceplus) IS DISTINCT FROM
      (derived.is_owner, derived.is_admin, derived.is_moderator, derived.has_svip, derived.is_serviceplus);
END $$;
--> statement-breakpoint
CREATE FUNCTION user_flags_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM derive_flags(ARRAY(SELECT DISTINCT steamid64 FROM changed));
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_flags_given AFTER INSERT ON user_flags REFERENCING NEW TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION user_flags_changed();
--> statement-breakpoint
CREATE TRIGGER user_flags_ended AFTER DELETE ON user_flags REFERENCING OLD TABLE AS changed
  FOR EACH STATEMENT EXECUTE FUNCTION user_flags_changed();
--> statement-breakpoint
-- A new account gets the flags that are remembered for its SteamID; those it is inserted with count as given by hand.
CREATE FUNCTION user_created() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  -- LOCKS.flags: the transaction that saves a source does not see this account yet.
  PERFORM pg_advisory_xact_lock_shared(727007);
  INSERT INTO user_flags (steamid64, flag, source)
    SELECT NEW.steamid64, flag, 'hand' FROM (VALUES
      ('is_owner', NEW.is_owner),
      ('is_admin', NEW.is_admin),
      ('is_moderator', NEW.is_moderator),
      ('has_svip', NEW.has_svip),
      ('is_serviceplus', NEW.is_serviceplus)
    ) AS given (flag, is_given) WHERE is_given
    ON CONFLICT DO NOTHING;
  PERFORM derive_flags(ARRAY[NEW.steamid64]);
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_created AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION user_created();
--> statement-breakpoint
-- Roles on Discord give flags to the linked account alone, and those of a new link are read at once.
CREATE FUNCTION user_linked() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM user_flags WHERE steamid64 = NEW.steamid64 AND source = 'discord';
  DELETE FROM discord_members WHERE discord_id = NEW.discord_id;
  RETURN NULL;
END $$;
--> statement-breakpoint
CREATE TRIGGER user_linked AFTER UPDATE OF discord_id ON users FOR EACH ROW
  WHEN (OLD.discord_id IS DISTINCT FROM NEW.discord_id) EXECUTE FUNCTION user_linked();
