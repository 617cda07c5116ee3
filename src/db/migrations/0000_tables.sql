-- All tables, subject by subject as in src/db/schema/: game servers, penalties, accounts, round-end sounds, the service.
-- Types used by the tables below come first.

CREATE TYPE penalty_type AS ENUM ('ban', 'mute', 'gag', 'silence', 'warn');
--> statement-breakpoint
CREATE TYPE penalty_status AS ENUM ('ACTIVE', 'EXPIRED', 'UNBANNED');
--> statement-breakpoint
CREATE TYPE round_sound_status AS ENUM ('queued', 'measuring', 'rendering', 'ready', 'failed');

--> statement-breakpoint
-- Game servers ---------------------------------------------------------------------------------------------------------

CREATE TABLE servers (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  slug text NOT NULL CONSTRAINT servers_slug_unique UNIQUE,
  name text NOT NULL,
  address text NOT NULL CONSTRAINT servers_address_unique UNIQUE,
  mode text NOT NULL DEFAULT '',
  region text NOT NULL DEFAULT '',
  is_hidden boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

--> statement-breakpoint
-- Every poll rewrites its server's row: room in the page keeps the update in place.
CREATE TABLE server_snapshots (
  server_id integer PRIMARY KEY
    CONSTRAINT server_snapshots_server_id_servers_id_fk REFERENCES servers (id) ON DELETE CASCADE,
  is_online boolean NOT NULL,
  hostname text NOT NULL DEFAULT '',
  map text NOT NULL DEFAULT '',
  players_count integer NOT NULL DEFAULT 0,
  max_players integer NOT NULL DEFAULT 0,
  ping_ms integer NOT NULL DEFAULT 0,
  players jsonb NOT NULL DEFAULT '[]',
  missed_polls integer NOT NULL DEFAULT 0,
  polled_at timestamptz(3) NOT NULL,
  seen_at timestamptz(3)
) WITH (fillfactor = 50);

--> statement-breakpoint
CREATE TABLE server_samples (
  server_id integer NOT NULL
    CONSTRAINT server_samples_server_id_servers_id_fk REFERENCES servers (id) ON DELETE CASCADE,
  sampled_at timestamptz(3) NOT NULL,
  period_seconds smallint NOT NULL DEFAULT 0,
  players_average real NOT NULL,
  players_maximum smallint NOT NULL,
  max_players smallint NOT NULL,
  online_share real NOT NULL,
  CONSTRAINT server_samples_server_id_sampled_at_period_seconds_pk PRIMARY KEY (server_id, sampled_at, period_seconds)
);
--> statement-breakpoint
CREATE INDEX server_samples_raw ON server_samples (sampled_at) WHERE period_seconds = 0;

--> statement-breakpoint
-- Penalties ------------------------------------------------------------------------------------------------------------

CREATE TABLE penalties (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  type penalty_type NOT NULL,
  status penalty_status NOT NULL,
  player_name text NOT NULL DEFAULT '',
  player_steamid bigint NOT NULL,
  admin_name text NOT NULL DEFAULT '',
  admin_steamid bigint NOT NULL,
  reason text NOT NULL DEFAULT '',
  duration_minutes integer NOT NULL,
  server_id integer NOT NULL DEFAULT 0,
  created_at timestamptz(3) NOT NULL,
  ends_at timestamptz(3),
  lifted_at timestamptz(3),
  lifted_by_name text,
  lifted_by_steamid bigint,
  lift_reason text,
  source text,
  source_table text,
  source_id text,
  gone_at timestamptz(3),
  CONSTRAINT penalties_times CHECK (
    (created_at >= '1971-01-01 00:00:00+00' AND created_at < '10000-01-01 00:00:00+00')
    AND (ends_at >= '1971-01-01 00:00:00+00' AND ends_at < '10000-01-01 00:00:00+00')
    AND (lifted_at >= '1971-01-01 00:00:00+00' AND lifted_at < '10000-01-01 00:00:00+00')
  )
);
--> statement-breakpoint
CREATE UNIQUE INDEX penalties_source ON penalties (source, source_table, source_id);
--> statement-breakpoint
-- Lists read these backwards. Columns after the id sort nothing: a walk to a deep page decides by them alone.
CREATE INDEX penalties_created ON penalties (created_at, id, type, status, ends_at);
--> statement-breakpoint
CREATE INDEX penalties_type_status ON penalties (type, status, created_at, id);
--> statement-breakpoint
CREATE INDEX penalties_player ON penalties (player_steamid, created_at, id);
--> statement-breakpoint
CREATE INDEX penalties_admin ON penalties (admin_steamid, created_at, id, type, status, ends_at);
--> statement-breakpoint
CREATE INDEX penalties_server ON penalties (server_id, created_at, id, type, status, ends_at);
--> statement-breakpoint
CREATE INDEX penalties_server_admin ON penalties (server_id, admin_steamid, created_at, id);
--> statement-breakpoint
CREATE INDEX penalties_active_bans ON penalties (player_steamid) WHERE type = 'ban' AND status = 'ACTIVE';
--> statement-breakpoint
-- Everything that correcting the counts asks of a row whose time is up.
CREATE INDEX penalties_due ON penalties (ends_at, type, created_at, server_id, admin_steamid, player_steamid)
  WHERE status = 'ACTIVE' AND ends_at IS NOT NULL;

--> statement-breakpoint
-- Many small rows that are rewritten often: room in the page keeps their updates in place.
CREATE TABLE penalty_tallies (
  scope smallint NOT NULL,
  server_id integer NOT NULL,
  admin_steamid bigint NOT NULL,
  period smallint NOT NULL,
  bucket date NOT NULL,
  counts integer[] NOT NULL,
  CONSTRAINT penalty_tallies_scope_server_id_admin_steamid_period_bucket_pk
    PRIMARY KEY (scope, server_id, admin_steamid, period, bucket)
) WITH (fillfactor = 70);

--> statement-breakpoint
CREATE TABLE penalty_sources (
  name text PRIMARY KEY,
  kind text NOT NULL,
  address text NOT NULL,
  prefix text NOT NULL DEFAULT ''
);
--> statement-breakpoint
CREATE TABLE server_aliases (
  source text NOT NULL,
  source_server_id text NOT NULL,
  server_id integer NOT NULL
    CONSTRAINT server_aliases_server_id_servers_id_fk REFERENCES servers (id) ON DELETE CASCADE,
  CONSTRAINT server_aliases_source_source_server_id_pk PRIMARY KEY (source, source_server_id)
);

--> statement-breakpoint
-- Accounts -------------------------------------------------------------------------------------------------------------

CREATE TABLE users (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  steamid64 bigint NOT NULL CONSTRAINT users_steamid64_unique UNIQUE,
  nickname text NOT NULL DEFAULT '',
  avatar_url text NOT NULL DEFAULT '',
  discord_id bigint CONSTRAINT users_discord_id_unique UNIQUE,
  discord_username text NOT NULL DEFAULT '',
  discord_avatar text NOT NULL DEFAULT '',
  is_admin boolean NOT NULL DEFAULT false,
  is_owner boolean NOT NULL DEFAULT false,
  admin_by_config boolean DEFAULT false,
  owner_by_config boolean DEFAULT false,
  has_svip boolean NOT NULL DEFAULT false,
  is_serviceplus boolean NOT NULL DEFAULT false,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
--> statement-breakpoint
CREATE INDEX users_created ON users (created_at, id);

--> statement-breakpoint
CREATE TABLE api_tokens (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  user_id integer NOT NULL CONSTRAINT api_tokens_user_id_users_id_fk REFERENCES users (id) ON DELETE CASCADE,
  name text NOT NULL,
  token_hash text NOT NULL CONSTRAINT api_tokens_token_hash_unique UNIQUE,
  last_four text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3),
  last_used_at timestamptz(3),
  revoked_at timestamptz(3)
);
--> statement-breakpoint
CREATE INDEX api_tokens_user ON api_tokens (user_id, id);
--> statement-breakpoint
CREATE INDEX api_tokens_unrevoked ON api_tokens (user_id) WHERE revoked_at IS NULL;
--> statement-breakpoint
CREATE INDEX api_tokens_ended ON api_tokens (least(revoked_at, expires_at));

--> statement-breakpoint
CREATE TABLE sessions (
  id_hash text PRIMARY KEY,
  user_id integer NOT NULL CONSTRAINT sessions_user_id_users_id_fk REFERENCES users (id) ON DELETE CASCADE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL
);
--> statement-breakpoint
CREATE INDEX sessions_user ON sessions (user_id);
--> statement-breakpoint
CREATE INDEX sessions_expires ON sessions (expires_at);

--> statement-breakpoint
CREATE TABLE used_nonces (
  nonce text PRIMARY KEY,
  expires_at timestamptz(3) NOT NULL
);
--> statement-breakpoint
CREATE INDEX used_nonces_expires ON used_nonces (expires_at);

--> statement-breakpoint
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz(3) NOT NULL DEFAULT now(),
  actor_user_id integer CONSTRAINT audit_log_actor_user_id_users_id_fk REFERENCES users (id) ON DELETE SET NULL,
  actor text,
  action text NOT NULL,
  subject text NOT NULL DEFAULT '',
  details jsonb NOT NULL DEFAULT '{}'
);
--> statement-breakpoint
CREATE INDEX audit_log_at ON audit_log (at);

--> statement-breakpoint
-- Round-end sounds -----------------------------------------------------------------------------------------------------

CREATE TABLE round_sounds (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  steamid64 bigint NOT NULL,
  status round_sound_status NOT NULL DEFAULT 'queued',
  title text NOT NULL,
  upload_key text NOT NULL CONSTRAINT round_sounds_upload_key_unique UNIQUE,
  failure text,
  attempts smallint NOT NULL DEFAULT 0,
  claimed_until timestamptz(3),
  sha256 text,
  loudness_before_lufs real,
  loudness_after_lufs real,
  duration_ms integer,
  waveform smallint[],
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ready_at timestamptz(3)
);
--> statement-breakpoint
-- At most one published sound a player.
CREATE UNIQUE INDEX round_sounds_ready ON round_sounds (steamid64) WHERE status = 'ready';
--> statement-breakpoint
CREATE INDEX round_sounds_player ON round_sounds (steamid64, id);
--> statement-breakpoint
CREATE INDEX round_sounds_queue ON round_sounds (id) WHERE status IN ('queued', 'measuring', 'rendering');

--> statement-breakpoint
-- The service ----------------------------------------------------------------------------------------------------------

CREATE TABLE settings (
  key text PRIMARY KEY,
  value text NOT NULL
);
--> statement-breakpoint
CREATE TABLE live_status_messages (
  message_id bigint PRIMARY KEY,
  channel_id bigint NOT NULL,
  guild_id bigint,
  server_id integer CONSTRAINT live_status_messages_server_id_servers_id_fk REFERENCES servers (id) ON DELETE CASCADE,
  locale text NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
