import { domainToUnicode } from 'node:url';
import { isDiscordId } from '../domain/discord-id.ts';
import { InvalidInput } from '../domain/errors.ts';
import { SOURCE_NAME, SOURCE_NAME_RULE } from '../domain/penalty.ts';
import { parseSoundAudience } from '../domain/rights/sound-audience.ts';
import { TOKEN_AUDIENCES } from '../domain/rights/token-audience.ts';
import {
  BOOST,
  type FlagMapping,
  MAPPED_FLAGS,
  MEMBER_FACTS,
  type RoleGrant,
  tryParseFlagMapping,
  tryParseMapping,
} from '../domain/rights/user-flags.ts';
import { type SteamId64, tryParseSteamId } from '../domain/steam-id.ts';
import { foldName, isMisspelling } from '../domain/text/misspelling.ts';
import {
  checkUrl,
  decimal,
  type Env,
  integer,
  list,
  matching,
  matchingSecret,
  network,
  oneOf,
  readEnvironment,
  refusal,
  secret,
  secretUrl,
  text,
  timezone,
  url,
  type Variables,
  withoutPassword,
} from './environment.ts';
import { ROLES, type Role } from './roles.ts';

const SITE_NAME = /^(?=.*[\p{L}\p{N}])\P{Cc}{1,64}$/u;
/** Discord's limit for the address of a link button. */
const MAX_LINK_LENGTH = 512;
const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

/** Every setting of the service, frozen. */
export type Config = Readonly<
  ReturnType<typeof readSettings> & {
    /** Variables that are set and look like misspelled settings. */
    misspelled: { variable: string; meant: string }[];
  }
>;

/**
 * Reads every setting from the environment, once. An empty variable counts as unset.
 * @param defaults values of variables whose defaults differ from the service's.
 * @throws {InvalidInput} one line that names the variable, its value and what is allowed.
 */
export function parseConfig(variables: Variables, defaults: Variables = {}): Config {
  const settings = readSettings(readEnvironment(variables, defaults));
  return deepFreeze({ ...settings, misspelled: findMisspelled(variables) });
}

function readSettings(env: Env) {
  const port = integer(env, 'PORT', { byDefault: 3000, min: 0, max: 65_535 });
  const publicUrl = publicOrigin(env) ?? `http://localhost:${port}`;
  return {
    host: text(env, 'HOST') ?? '0.0.0.0',
    port,
    /** The port of health and metrics in a process without the role `api`. */
    healthPort: integer(env, 'HEALTH_PORT', { byDefault: 3001, min: 0, max: 65_535 }),
    isHealthPortSet: text(env, 'HEALTH_PORT') !== undefined,
    /** An origin as browsers send it: lower case, punycode, no default port. */
    publicUrl,
    isPublicUrlSet: text(env, 'PUBLIC_URL') !== undefined,
    /** Branding of the pages. */
    site: {
      name:
        matching(env, 'SITE_NAME', SITE_NAME, '1 to 64 characters with a letter or digit') ??
        unicodeHostOf(publicUrl),
      logoUrl: url(env, 'SITE_LOGO_URL', ['http', 'https']),
      accent: matching(env, 'SITE_ACCENT', /^#[0-9a-f]{6}$/i, 'a colour such as #f7b23b'),
      discordInviteUrl: url(env, 'DISCORD_INVITE_URL', ['https']),
    },
    /** Unset: the embedded PostgreSQL under `dataDir`. */
    databaseUrl: secretUrl(env, 'DATABASE_URL', ['postgres', 'postgresql']),
    databaseReplicaUrls: list(env, 'DATABASE_REPLICA_URLS').map((value) =>
      checkUrl('DATABASE_REPLICA_URLS', value, ['postgres', 'postgresql'], { hasPassword: true }),
    ),
    dataDir: text(env, 'DATA_DIR') ?? './data',
    storageDir: text(env, 'STORAGE_DIR') ?? './storage',
    discord: {
      token: secret(env, 'DISCORD_TOKEN'),
      /** Whether the bot's presence shows how many play. */
      showsPresence: oneOf(env, 'DISCORD_PRESENCE', ['0', '1']) !== '0',
      guildId: matching(env, 'DISCORD_GUILD_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      apiUrl: url(env, 'DISCORD_API_URL', ['http', 'https']) ?? 'https://discord.com/api',
      roles: memberRoles(env),
      clientId: matching(env, 'DISCORD_CLIENT_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      clientSecret: secret(env, 'DISCORD_CLIENT_SECRET'),
    },
    steam: {
      openIdUrl: url(env, 'STEAM_OPENID_URL', ['http', 'https']) ?? 'https://steamcommunity.com/openid/login',
      apiKey: secret(env, 'STEAM_API_KEY'),
      apiUrl: url(env, 'STEAM_API_URL', ['http', 'https']) ?? 'https://api.steampowered.com',
    },
    ownerSteamIds: steamIds(env, 'OWNER_STEAMIDS'),
    moderatorSteamIds: steamIds(env, 'MODERATOR_STEAMIDS'),
    /** Whether everybody may see the list of penalties. */
    arePenaltiesPublic: oneOf(env, 'PUBLIC_PENALTIES', ['0', '1']) === '1',
    /** Where players appeal against a penalty. */
    appealUrl: url(env, 'APPEAL_URL', ['http', 'https'], { maxLength: MAX_LINK_LENGTH }),
    /** Where vulnerabilities are reported. */
    securityContact: url(env, 'SECURITY_CONTACT', ['https', 'mailto']),
    tokensFor: oneOf(env, 'TOKENS_FOR', TOKEN_AUDIENCES) ?? 'everyone',
    redisUrl: secretUrl(env, 'REDIS_URL', ['redis', 'rediss', 'valkey']),
    trustedProxies: list(env, 'TRUSTED_PROXIES').map((value) => network('TRUSTED_PROXIES', value)),
    rateLimit: {
      publicPerMinute: integer(env, 'RATE_LIMIT_PUBLIC', { byDefault: 30, min: 1, max: 1_000_000_000 }),
      protectedPerMinute: integer(env, 'RATE_LIMIT_PROTECTED', { byDefault: 60, min: 1, max: 1_000_000_000 }),
    },
    /** Networks that may read `/metrics`, besides this machine while `publicUrl` is loopback. */
    metricsAllow: list(env, 'METRICS_ALLOW').map((value) => network('METRICS_ALLOW', value)),
    /** Networks in which webhooks may be delivered although they are not public, and without TLS. */
    webhookAllow: list(env, 'WEBHOOK_ALLOW').map((value) => network('WEBHOOK_ALLOW', value)),
    pollIntervalSeconds: integer(env, 'POLL_INTERVAL_SECONDS', { byDefault: 15, min: 1, max: 3600 }),
    sound: {
      maxSeconds: integer(env, 'SOUND_MAX_SECONDS', { byDefault: 10, min: 1, max: 60 }),
      maxUploadBytes: integer(env, 'SOUND_MAX_UPLOAD_MB', { byDefault: 20, min: 1, max: 512 }) * 1024 * 1024,
      loudnessLufs: decimal(env, 'SOUND_LOUDNESS_LUFS', { byDefault: -18, min: -30, max: -10 }),
      audience: parseSoundAudience(list(env, 'SOUND_FOR')),
    },
    ffmpegPath: text(env, 'FFMPEG_PATH'),
    /** The systems whose penalties are mirrored. */
    sources: {
      simpleadmin: {
        ...penaltySource(
          env,
          'SIMPLEADMIN',
          /^(mysql:\/\/|mariadb:\/\/|sqlite:).+/,
          `${MYSQL_FORM} or sqlite:PATH`,
        ),
        timezone: timezone(env, 'SIMPLEADMIN_TIMEZONE') ?? 'UTC',
      },
      sourcebans: {
        ...penaltySource(env, 'SOURCEBANS', /^(mysql|mariadb):\/\/.+/, MYSQL_FORM),
        prefix: matching(env, 'SOURCEBANS_PREFIX', /^\w{0,32}$/, 'letters, digits and underscores') ?? 'sb_',
      },
      iks: penaltySource(env, 'IKS', /^(mysql|mariadb):\/\/.+/, MYSQL_FORM),
    },
    vipcore: {
      /** VIPCore's database, whose VIPs get flags; unset: none. */
      url: matchingSecret(env, 'VIPCORE_URL', /^(mysql|mariadb):\/\/.+/, MYSQL_FORM),
      flags: flagMapping(env, 'VIPCORE_FLAGS') ?? [{ flag: 'has_svip' as const, permissions: ['*'] }],
    },
    sessionSecret: sessionSecret(env),
    /** How long HTTP keeps serving after SIGTERM. */
    drainSeconds: integer(env, 'DRAIN_SECONDS', { byDefault: 3, min: 0, max: 300 }),
    roles: roles(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS) ?? 'info',
  };
}

const MYSQL_FORM = 'mysql://user:password@host/database';

/** The settings that all systems have whose penalties are mirrored. */
function penaltySource(env: Env, name: string, url: RegExp, form: string) {
  return {
    /** The address of its database; unset: no mirror. */
    url: matchingSecret(env, `${name}_URL`, url, form),
    /** The source name that is part of the key of its penalties. */
    source: matching(env, `${name}_SOURCE`, SOURCE_NAME, SOURCE_NAME_RULE) ?? name.toLowerCase(),
    intervalSeconds: integer(env, `${name}_INTERVAL_SECONDS`, { byDefault: 60, min: 1, max: 86_400 }),
    /** Which rights in its games give which flags; unset: none. */
    flags: flagMapping(env, `${name}_FLAGS`),
  };
}

function flagMapping(env: Env, variable: string): FlagMapping | undefined {
  const value = text(env, variable);
  if (value === undefined) return undefined;
  const mapping = tryParseFlagMapping(value);
  if (mapping) return mapping;
  const form = 'a mapping such as is_admin=NAME,NAME;has_svip=NAME';
  throw refusal(variable, value, `${form}, of the flags ${MAPPED_FLAGS.join(', ')}`);
}

/** Which roles on Discord give flags to linked members, and which they are given; undefined: none. */
function memberRoles(env: Env): { flags: FlagMapping; gives: readonly RoleGrant[] } | undefined {
  const flagsText = text(env, 'DISCORD_ROLE_FLAGS');
  const givesText = text(env, 'DISCORD_GIVE_ROLES');
  const guildId = text(env, 'DISCORD_GUILD_ID');
  const flags = flagsText === undefined ? [] : tryParseFlagMapping(flagsText);
  if (!flags?.every(({ permissions }) => permissions.every((id) => id === BOOST || isDiscordId(id)))) {
    const form = `a mapping such as has_svip=ROLE_ID,${BOOST};is_serviceplus=ROLE_ID`;
    throw refusal('DISCORD_ROLE_FLAGS', flagsText ?? '', `${form}, of the flags ${MAPPED_FLAGS.join(', ')}`);
  }
  const mapping = givesText === undefined ? [] : tryParseMapping(givesText, MEMBER_FACTS);
  if (!mapping?.every(([, ids]) => ids.every(isDiscordId))) {
    const form = 'a mapping such as linked=ROLE_ID;has_svip=ROLE_ID';
    throw refusal('DISCORD_GIVE_ROLES', givesText ?? '', `${form}, of ${MEMBER_FACTS.join(', ')}`);
  }
  const gives = mapping.flatMap(([fact, ids]) => ids.map((roleId) => ({ fact, roleId })));
  const both = gives.find(({ roleId }) => flags.some(({ permissions }) => permissions.includes(roleId)));
  if (both) {
    throw new InvalidInput(
      `DISCORD_ROLE_FLAGS and DISCORD_GIVE_ROLES both name the role ${both.roleId}: a role either gives flags or is given`,
    );
  }
  if (flags.length + gives.length === 0) return undefined;
  if (guildId !== undefined) return { flags, gives };
  const variable = flags.length > 0 ? 'DISCORD_ROLE_FLAGS' : 'DISCORD_GIVE_ROLES';
  throw new InvalidInput(`${variable} needs DISCORD_GUILD_ID, the guild of the roles`);
}

/**
 * Variables that are set and nearly have the name of a setting that is not. Short names (`HOST`, `PORT`, `ROLES`) are
 * left out: a few letters apart from them there are variables of other programs.
 */
function findMisspelled(variables: Variables): Config['misspelled'] {
  const env = readEnvironment(variables, {});
  const settings = listSettings();
  return Object.keys(variables).flatMap((variable) => {
    if (settings.has(variable) || env(variable) === undefined) return [];
    const meant = [...settings].find((name) => {
      const { length } = foldName(name);
      const maxEdits = length > 8 ? 2 : 1;
      return length > 5 && env(name) === undefined && isMisspelling(variable, name, maxEdits);
    });
    return meant === undefined ? [] : [{ variable, meant }];
  });
}

/** The name of every setting. */
function listSettings(): Set<string> {
  const names = new Set<string>();
  readSettings((name) => void names.add(name));
  return names;
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

/** The host and port of an address, in Unicode rather than Punycode. */
function unicodeHostOf(address: string): string {
  const { hostname, port } = new URL(address);
  return domainToUnicode(hostname) + (port && `:${port}`);
}

function steamIds(env: Env, variable: string): SteamId64[] {
  return list(env, variable).map((value) => {
    const steamId = tryParseSteamId(value);
    if (steamId) return steamId;
    throw refusal(variable, value, 'SteamIDs separated by commas');
  });
}

function sessionSecret(env: Env): string | undefined {
  const value = secret(env, 'SESSION_SECRET');
  if (value === undefined || value.length >= 32) return value;
  throw new InvalidInput('SESSION_SECRET is too short: use at least 32 characters');
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

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
