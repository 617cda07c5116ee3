-- Tells every process that somebody's flags changed: SOUND_FOR may allow them a sound, or no longer.
CREATE TRIGGER users_changed AFTER INSERT OR UPDATE OF is_admin, is_owner, has_svip, is_serviceplus OR DELETE OR TRUNCATE ON users
  FOR EACH STATEMENT EXECUTE FUNCTION notify_changed();
