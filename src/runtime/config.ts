import { InvalidInput } from '../domain/errors.ts';
import { SOURCE_NAME } from '../domain/penalty.ts';
import { parseSoundAudience } from '../domain/rights/sound-audience.ts';
import { TOKEN_AUDIENCES } from '../domain/rights/token-audience.ts';
import { readSteamId, type SteamId64 } from '../domain/steam-id.ts';
import { tryParseNetwork } from './network.ts';

/** The parts a process can run; several processes may share the work. */
export const ROLES = ['api', 'bot', 'poller', 'media', 'sync'] as const;
export type Role = (typeof ROLES)[number];

const SITE_NAME = /^(?=.*[\p{L}\p{N}])\P{Cc}{1,64}$/u;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export type Config = ReturnType<typeof parseConfig>;

type Env = Record<string, string | undefined>;

/**
 * Reads every setting from the environment, once. An empty variable counts as unset.
 * @throws {InvalidInput} one line that names the variable, its value and what is allowed.
 */
export function parseConfig(env: Env) {
  const port = integer(env, 'PORT', { byDefault: 3000, min: 0, max: 65_535 });
  const config = {
    host: text(env, 'HOST') ?? '0.0.0.0',
    port,
    /** Where health and metrics are in a process without the role `api`. */
    healthPort: integer(env, 'HEALTH_PORT', { byDefault: 3001, min: 0, max: 65_535 }),
    /** An origin as browsers send it: lower case, punycode, no default port. */
    publicUrl: publicOrigin(env) ?? `http://localhost:${port}`,
    isPublicUrlSet: text(env, 'PUBLIC_URL') !== undefined,
    /** How the pages look. */
    site: {
      name: matching(env, 'SITE_NAME', SITE_NAME, '1 to 64 characters with a letter or digit'),
      logoUrl: url(env, 'SITE_LOGO_URL', ['http', 'https']),
      accent: matching(env, 'SITE_ACCENT', /^#[0-9a-f]{6}$/i, 'a colour such as #f7b23b'),
      discordInviteUrl: url(env, 'DISCORD_INVITE_URL', ['https']),
    },
    /** Unset: the embedded PostgreSQL under `dataDir`. */
    databaseUrl: secretUrl(env, 'DATABASE_URL', ['postgres', 'postgresql']),
    databaseReplicaUrls: list(env, 'DATABASE_REPLICA_URLS').map((value) =>
      checkUrl('DATABASE_REPLICA_URLS', value, ['postgres', 'postgresql'], { secret: true }),
    ),
    dataDir: text(env, 'DATA_DIR') ?? './data',
    storageDir: text(env, 'STORAGE_DIR') ?? './storage',
    discord: {
      token: text(env, 'DISCORD_TOKEN'),
      guildId: matching(env, 'DISCORD_GUILD_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      apiUrl: url(env, 'DISCORD_API_URL', ['http', 'https']) ?? 'https://discord.com/api',
      clientId: matching(env, 'DISCORD_CLIENT_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      clientSecret: text(env, 'DISCORD_CLIENT_SECRET'),
    },
    steam: {
      openIdUrl: url(env, 'STEAM_OPENID_URL', ['http', 'https']) ?? 'https://steamcommunity.com/openid/login',
      apiKey: text(env, 'STEAM_API_KEY'),
      apiUrl: url(env, 'STEAM_API_URL', ['http', 'https']) ?? 'https://api.steampowered.com',
    },
    ownerSteamIds: list(env, 'OWNER_STEAMIDS').map((value) => ownerSteamId(value)),
    /** Whether everybody may see the list of penalties. */
    arePenaltiesPublic: oneOf(env, 'PUBLIC_PENALTIES', ['0', '1']) === '1',
    /** Where players ask for a penalty to be lifted. */
    appealUrl: url(env, 'APPEAL_URL', ['http', 'https']),
    tokensFor: oneOf(env, 'TOKENS_FOR', TOKEN_AUDIENCES) ?? 'everyone',
    redisUrl: secretUrl(env, 'REDIS_URL', ['redis', 'rediss', 'valkey']),
    trustedProxies: list(env, 'TRUSTED_PROXIES').map((value) => network('TRUSTED_PROXIES', value)),
    rateLimit: {
      publicPerMinute: integer(env, 'RATE_LIMIT_PUBLIC', { byDefault: 30, min: 1, max: 1_000_000_000 }),
      protectedPerMinute: integer(env, 'RATE_LIMIT_PROTECTED', { byDefault: 60, min: 1, max: 1_000_000_000 }),
    },
    /** Networks besides loopback that may read `/metrics`. */
    metricsAllow: list(env, 'METRICS_ALLOW').map((value) => network('METRICS_ALLOW', value)),
    /** Networks in which webhooks may be delivered although they are not public, and without TLS. */
    webhookAllow: list(env, 'WEBHOOK_ALLOW').map((value) => network('WEBHOOK_ALLOW', value)),
    pollIntervalSeconds: integer(env, 'POLL_INTERVAL_SECONDS', { byDefault: 15, min: 1, max: 3600 }),
    sound: {
      maxSeconds: integer(env, 'SOUND_MAX_SECONDS', { byDefault: 10, min: 1, max: 60 }),
      maxUploadMb: integer(env, 'SOUND_MAX_UPLOAD_MB', { byDefault: 20, min: 1, max: 512 }),
      loudnessLufs: decimal(env, 'SOUND_LOUDNESS_LUFS', { byDefault: -18, min: -30, max: -10 }),
      audience: parseSoundAudience(list(env, 'SOUND_FOR')),
    },
    ffmpegPath: text(env, 'FFMPEG_PATH'),
    simpleAdmin: {
      /** `mysql://…` or `sqlite:PATH`. */
      url: matching(
        env,
        'SIMPLEADMIN_URL',
        /^(mysql:\/\/|mariadb:\/\/|sqlite:).+/,
        'mysql://user:password@host/database or sqlite:PATH',
        { secret: true },
      ),
      /** Part of the key of its penalties. */
      source:
        matching(env, 'SIMPLEADMIN_SOURCE', SOURCE_NAME, '1 to 64 letters, digits, . : _ -') ?? 'simpleadmin',
      timezone: timezone(env, 'SIMPLEADMIN_TIMEZONE') ?? 'UTC',
      intervalSeconds: integer(env, 'SIMPLEADMIN_INTERVAL_SECONDS', { byDefault: 60, min: 1, max: 86_400 }),
    },
    sessionSecret: sessionSecret(env),
    /** How long HTTP goes on after SIGTERM. */
    drainSeconds: integer(env, 'DRAIN_SECONDS', { byDefault: 3, min: 0, max: 300 }),
    roles: roles(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS) ?? 'info',
  };
  return deepFreeze(config);
}

function text(env: Env, name: string): string | undefined {
  const value = env[name]?.trim();
  return value === '' ? undefined : value;
}

function list(env: Env, name: string): string[] {
  return (text(env, name) ?? '')
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
}

type Range = { byDefault: number; min: number; max: number };

function integer(env: Env, name: string, { byDefault, min, max }: Range): number {
  const value = text(env, name);
  if (value === undefined) return byDefault;
  const number = /^-?[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw refusal(name, value, `a whole number from ${min} to ${max}`);
}

function decimal(env: Env, name: string, { byDefault, min, max }: Range): number {
  const value = text(env, name);
  if (value === undefined) return byDefault;
  const number = /^-?[0-9]{1,9}(\.[0-9]{1,9})?$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw refusal(name, value, `a number from ${min} to ${max}`);
}

function oneOf<T extends string>(env: Env, name: string, allowed: readonly T[]): T | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const found = allowed.find((item) => item === value);
  if (found) return found;
  throw refusal(name, value, `one of ${allowed.join(', ')}`);
}

function matching(
  env: Env,
  name: string,
  pattern: RegExp,
  allowed: string,
  { secret = false } = {},
): string | undefined {
  const value = text(env, name);
  if (value === undefined || pattern.test(value)) return value;
  throw refusal(name, secret ? withoutPassword(value) : value, allowed);
}

function url(env: Env, name: string, schemes: string[]): string | undefined {
  const value = text(env, name);
  return value === undefined ? undefined : checkUrl(name, value, schemes);
}

function secretUrl(env: Env, name: string, schemes: string[]): string | undefined {
  const value = text(env, name);
  return value === undefined ? undefined : checkUrl(name, value, schemes, { secret: true });
}

function checkUrl(name: string, value: string, schemes: string[], { secret = false } = {}): string {
  const scheme = URL.canParse(value) ? new URL(value).protocol.slice(0, -1) : undefined;
  if (scheme !== undefined && schemes.includes(scheme)) return value;
  throw refusal(
    name,
    secret ? withoutPassword(value) : value,
    `an address that begins with ${schemes.map((s) => `${s}://`).join(' or ')}`,
  );
}

function withoutPassword(value: string): string {
  return value.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@');
}

function publicOrigin(env: Env): string | undefined {
  const value = text(env, 'PUBLIC_URL');
  if (value === undefined) return undefined;
  const url = URL.parse(value);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url && isWeb && !/[?#@]/.test(value) && url.pathname === '/') return url.origin;
  throw refusal(
    'PUBLIC_URL',
    withoutPassword(value),
    'an address such as https://play.example.org, without user, path, query or fragment',
  );
}

function network(name: string, value: string): string {
  const parsed = tryParseNetwork(value);
  if (parsed !== undefined) return parsed;
  throw refusal(
    name,
    value,
    'addresses or networks such as 10.0.0.0/8, 127.0.0.1 or fd00::/8, separated by commas',
  );
}

function ownerSteamId(value: string): SteamId64 {
  const steamId = readSteamId(value);
  if (steamId) return steamId;
  throw refusal('OWNER_STEAMIDS', value, 'SteamIDs separated by commas');
}

function timezone(env: Env, name: string): string | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone && value;
  } catch {
    throw refusal(name, value, 'a time zone such as UTC or Europe/Warsaw');
  }
}

function sessionSecret(env: Env): string | undefined {
  const value = text(env, 'SESSION_SECRET');
  if (value === undefined || value.length >= 32) return value;
  throw new InvalidInput('SESSION_SECRET is too short: give at least 32 characters');
}

function roles(env: Env): readonly Role[] {
  const named = list(env, 'ROLES');
  if (named.length === 0) return ROLES;
  return named.map((value) => {
    const role = ROLES.find((known) => known === value);
    if (role) return role;
    throw refusal('ROLES', value, `any of ${ROLES.join(', ')}, separated by commas`);
  });
}

function refusal(name: string, value: string, allowed: string): InvalidInput {
  return new InvalidInput(`${name}=${JSON.stringify(value)} is not allowed: give ${allowed}`);
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
