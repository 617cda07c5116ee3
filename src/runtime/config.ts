import { domainToUnicode } from 'node:url';
import { isDiscordId } from '../domain/discord-id.ts';
import { InvalidInput } from '../domain/errors.ts';
import { listLanguages } from '../domain/language.ts';
import { LIFT_AUDIENCES } from '../domain/lift.ts';
import { tryParsePanel } from '../domain/panel.ts';
import { SOURCE_NAME, SOURCE_NAME_RULE } from '../domain/penalty.ts';
import { SOUND_GROUPS, type SoundAudience } from '../domain/rights/sound-audience.ts';
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
import { MAX_UPLOAD_MB } from '../domain/round-sound.ts';
import { type SteamId64, tryParseSteamId } from '../domain/steam-id.ts';
import { byPenaltySystem, type PenaltySystem, SYSTEMS, type SystemName } from '../domain/systems.ts';
import { splitList } from '../domain/text/list.ts';
import { foldName, isMisspelling } from '../domain/text/misspelling.ts';
import { parsePostgresAddress } from './database-address.ts';
import {
  type Env,
  matching,
  networks,
  number,
  oneOf,
  parsed,
  parsedList,
  readEnvironment,
  secretsOf,
  timezone,
  url,
  type Variables,
  withoutPassword,
} from './environment.ts';

const SITE_NAME = /^(?=.*[\p{L}\p{N}])\P{Cc}{1,64}$/u;
/** Discord's limit for the address of a link button. */
const LINK = /^.{1,512}$/s;
/**
 * The parts a process can run; several processes may share the work. What must run once (`poller`, `bot`, and of `sync` all
 * but the marking of expired penalties) runs in the leading process, see `openLeaders`.
 */
export const ROLES = ['api', 'bot', 'poller', 'media', 'sync'] as const;
export type Role = (typeof ROLES)[number];
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
  const secrets = secretsOf(env);
  const port = number(env, 'PORT', { fallback: 3000, min: 0, max: 65_535 });
  const publicUrl = publicOrigin(env) ?? `http://localhost:${port}`;
  return {
    host: env.read('HOST') ?? '0.0.0.0',
    port,
    /** The port of health and metrics in a process without the role `api`. */
    healthPort: number(env, 'HEALTH_PORT', { fallback: 3001, min: 0, max: 65_535 }),
    isHealthPortSet: env.read('HEALTH_PORT') !== undefined,
    /** An origin as browsers send it: lower case, punycode, no default port. */
    publicUrl,
    isPublicUrlSet: env.read('PUBLIC_URL') !== undefined,
    /** The IANA name of the zone of charts, of days, and of times in pages before scripts run. */
    timeZone: (matching(env, 'TIME_ZONE', /^[a-z]/i, ZONE_FORM) && timezone(env, 'TIME_ZONE')) ?? 'UTC',
    /** Branding of the pages. */
    site: {
      name:
        matching(env, 'SITE_NAME', SITE_NAME, '1 to 64 characters with a letter or digit') ??
        unicodeHostOf(publicUrl),
      logoUrl: url(env, 'SITE_LOGO_URL', ['http', 'https']),
      accent: parsed(env, 'SITE_ACCENT', tryParseColour, 'a colour such as #f7b23b'),
      discordInviteUrl: url(env, 'DISCORD_INVITE_URL', ['https']),
    },
    /** Unset: the embedded PostgreSQL under `dataDir`. */
    databaseUrl: postgresUrls('DATABASE_URL', [secrets.read('DATABASE_URL') ?? ''])[0],
    databaseReplicaUrls: postgresUrls(
      'DATABASE_REPLICA_URLS',
      splitList(secrets.read('DATABASE_REPLICA_URLS') ?? ''),
    ),
    dataDir: env.read('DATA_DIR') ?? './data',
    storageDir: env.read('STORAGE_DIR') ?? './storage',
    discord: {
      token: secrets.read('DISCORD_TOKEN'),
      /** Whether the bot's presence shows how many play. */
      showsPresence: oneOf(env, 'DISCORD_PRESENCE', ['0', '1']) !== '0',
      /** The language of everything that a guild sees; undefined: the guild's. */
      language: oneOf(env, 'DISCORD_LOCALE', listLanguages()),
      guildId: matching(env, 'DISCORD_GUILD_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      apiUrl: url(env, 'DISCORD_API_URL', ['http', 'https']) ?? 'https://discord.com/api',
      roles: memberRoles(env),
      clientId: matching(env, 'DISCORD_CLIENT_ID', /^[0-9]{1,20}$/, 'a Discord id of 1 to 20 digits'),
      clientSecret: secrets.read('DISCORD_CLIENT_SECRET'),
    },
    steam: {
      openIdUrl: url(env, 'STEAM_OPENID_URL', ['http', 'https']) ?? 'https://steamcommunity.com/openid/login',
      apiKey: secrets.read('STEAM_API_KEY'),
      apiUrl: url(env, 'STEAM_API_URL', ['http', 'https']) ?? 'https://api.steampowered.com',
    },
    ownerSteamIds: steamIds(env, 'OWNER_STEAMIDS'),
    moderatorSteamIds: steamIds(env, 'MODERATOR_STEAMIDS'),
    /** Whether everybody may see the list of penalties. */
    arePenaltiesPublic: oneOf(env, 'PUBLIC_PENALTIES', ['0', '1']) === '1',
    /** Where players appeal against a penalty. */
    appealUrl:
      matching(env, 'APPEAL_URL', LINK, 'an address of at most 512 characters') &&
      url(env, 'APPEAL_URL', ['http', 'https']),
    /** Appeals on this site; undefined: none. */
    appeals: appeals(env),
    /** How long a deleted account is remembered, so that a restored backup does not bring it back. */
    erasedKeptDays: number(env, 'ERASED_KEPT_DAYS', { fallback: 35, min: 1, max: 400 }),
    /** Who may lift penalties at their source. */
    liftFor: oneOf(env, 'LIFT_FOR', LIFT_AUDIENCES) ?? 'admins',
    /** Where vulnerabilities are reported. */
    securityContact: url(env, 'SECURITY_CONTACT', ['https', 'mailto']),
    tokensFor: oneOf(env, 'TOKENS_FOR', TOKEN_AUDIENCES) ?? 'everyone',
    redisUrl: url(secrets, 'REDIS_URL', ['redis', 'rediss', 'valkey']),
    trustedProxies: networks(env, 'TRUSTED_PROXIES'),
    rateLimit: {
      publicPerMinute: number(env, 'RATE_LIMIT_PUBLIC', { fallback: 30, min: 1, max: 1_000_000_000 }),
      protectedPerMinute: number(env, 'RATE_LIMIT_PROTECTED', { fallback: 60, min: 1, max: 1_000_000_000 }),
    },
    /** Networks that may read `/metrics`, besides this machine while `publicUrl` is loopback. */
    metricsAllow: networks(env, 'METRICS_ALLOW'),
    /** Networks in which webhooks may be delivered although they are not public, and without TLS. */
    webhookAllow: networks(env, 'WEBHOOK_ALLOW'),
    pollIntervalSeconds: number(env, 'POLL_INTERVAL_SECONDS', { fallback: 15, min: 1, max: 3600 }),
    sound: {
      maxSeconds: number(env, 'SOUND_MAX_SECONDS', { fallback: 10, min: 1, max: 60 }),
      maxUploadBytes:
        number(env, 'SOUND_MAX_UPLOAD_MB', { fallback: 20, min: 1, max: MAX_UPLOAD_MB }) * 1024 * 1024,
      loudnessLufs: number(env, 'SOUND_LOUDNESS_LUFS', {
        fallback: -18,
        min: -30,
        max: -10,
        isWhole: false,
      }),
      audience: soundAudience(env),
    },
    ffmpegPath: env.read('FFMPEG_PATH'),
    /** The systems whose penalties are mirrored. */
    sources: byPenaltySystem((name) => penaltySource(env, name)),
    vipcore: {
      /** VIPCore's database, whose VIPs get flags; unset: none. */
      url: databaseUrl(env, 'vipcore'),
      flags: flagMapping(env, 'VIPCORE_FLAGS') ?? [{ flag: 'has_svip' as const, permissions: ['*'] }],
    },
    sessionSecret: sessionSecret(secrets),
    /** How long HTTP keeps serving after SIGTERM. */
    drainSeconds: number(env, 'DRAIN_SECONDS', { fallback: 3, min: 0, max: 300 }),
    roles: roles(env),
    logLevel: oneOf(env, 'LOG_LEVEL', LOG_LEVELS) ?? 'info',
  };
}

/** @throws {InvalidInput} when players could appeal in two places. */
function appeals(env: Env): { againDays: number } | undefined {
  const againDays = number(env, 'APPEAL_AGAIN_DAYS', { fallback: 30, min: 0, max: 3650 });
  if (oneOf(env, 'APPEALS', ['0', '1']) !== '1') return undefined;
  if (env.read('APPEAL_URL') === undefined) return { againDays };
  throw new InvalidInput('APPEALS=1 and APPEAL_URL are both set: players appeal in one place');
}

const ZONE_FORM = 'a time zone such as UTC or Europe/Warsaw';
const MYSQL_FORM = 'mysql://user:password@host/database';

/** The address of a system's database. */
function databaseUrl(env: Env, name: SystemName): string | undefined {
  const isFile = SYSTEMS[name].databases.includes('sqlite');
  const schemes = isFile ? /^(mysql:\/\/|mariadb:\/\/|sqlite:).+/ : /^(mysql|mariadb):\/\/.+/;
  const form = isFile ? `${MYSQL_FORM} or sqlite:PATH` : MYSQL_FORM;
  return matching(secretsOf(env), `${name.toUpperCase()}_URL`, schemes, form);
}

/** The settings that all systems have whose penalties are mirrored. */
function penaltySource(env: Env, system: PenaltySystem) {
  const { tables, prefix, isZoned } = SYSTEMS[system];
  const name = system.toUpperCase();
  const names = Object.keys(tables)
    .map((table) => `${table}=ADDRESS`)
    .join(';');
  const panelForm = `an http or https address of at most 256 characters, in which {id} and {steamid64} may stand, or ${names}`;
  const secrets = secretsOf(env);
  const mirrorUrl = databaseUrl(env, system);
  const liftUrl = matching(secrets, `${name}_LIFT_URL`, /^mysql:\/\/.+/, MYSQL_FORM);
  if (liftUrl !== undefined && !/^(mysql|mariadb):/.test(mirrorUrl ?? '')) {
    throw new InvalidInput(
      `${name}_LIFT_URL needs ${name}_URL, the same database for the mirror: ${MYSQL_FORM}`,
    );
  }
  return {
    /** The address of its database; unset: no mirror. */
    url: mirrorUrl,
    /** The same database, with an account that may lift penalties; unset: nothing is lifted. */
    liftUrl,
    /** The source name that is part of the key of its penalties. */
    source: matching(env, `${name}_SOURCE`, SOURCE_NAME, SOURCE_NAME_RULE) ?? system,
    intervalSeconds: number(env, `${name}_INTERVAL_SECONDS`, { fallback: 60, min: 1, max: 86_400 }),
    /** Which rights in its games give which flags; unset: none. */
    flags: flagMapping(env, `${name}_FLAGS`),
    /** Where its panel shows penalties, by table. */
    panel: parsed(env, `${name}_PANEL_URL`, (text) => tryParsePanel(text, tables), panelForm) ?? [],
    /** The zone of its times, if they are written without one. */
    timezone: (isZoned && timezone(env, `${name}_TIMEZONE`)) || 'UTC',
    /** What the names of its tables begin with. */
    prefix:
      prefix === undefined
        ? undefined
        : (matching(env, `${name}_PREFIX`, /^\w{0,32}$/, 'letters, digits and underscores') ?? prefix),
  };
}

function flagMapping(env: Env, variable: string): FlagMapping | undefined {
  const form = 'a mapping such as is_admin=NAME,NAME;has_svip=NAME';
  return parsed(env, variable, tryParseFlagMapping, `${form}, of the flags ${MAPPED_FLAGS.join(', ')}`);
}

/** Which roles on Discord give flags to linked members, and which they are given; undefined: none. */
function memberRoles(env: Env): { flags: FlagMapping; gives: readonly RoleGrant[] } | undefined {
  const guildId = env.read('DISCORD_GUILD_ID');
  const flags =
    parsed(
      env,
      'DISCORD_ROLE_FLAGS',
      tryParseRoleFlags,
      `a mapping such as has_svip=ROLE_ID,${BOOST};is_serviceplus=ROLE_ID, of the flags ${MAPPED_FLAGS.join(', ')}`,
    ) ?? [];
  const mapping =
    parsed(
      env,
      'DISCORD_GIVE_ROLES',
      tryParseGivenRoles,
      `a mapping such as linked=ROLE_ID;has_svip=ROLE_ID, of ${MEMBER_FACTS.join(', ')}`,
    ) ?? [];
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

function tryParseRoleFlags(text: string): FlagMapping | undefined {
  const flags = tryParseFlagMapping(text);
  const isRole = (id: string) => id === BOOST || isDiscordId(id);
  return flags?.every(({ permissions }) => permissions.every(isRole)) ? flags : undefined;
}

function tryParseGivenRoles(text: string) {
  const mapping = tryParseMapping(text, MEMBER_FACTS);
  return mapping?.every(([, ids]) => ids.every(isDiscordId)) ? mapping : undefined;
}

/**
 * Variables that are set and nearly have the name of a setting that is not. Short names (`HOST`, `PORT`, `ROLES`) are
 * left out: a few letters apart from them there are variables of other programs.
 */
function findMisspelled(variables: Variables): Config['misspelled'] {
  const env = readEnvironment(variables, {});
  const settings = listSettings();
  return Object.keys(variables).flatMap((variable) => {
    if (settings.has(variable) || env.read(variable) === undefined) return [];
    const meant = [...settings].find((name) => {
      const { length } = foldName(name);
      const maxEdits = length > 8 ? 2 : 1;
      return length > 5 && env.read(name) === undefined && isMisspelling(variable, name, maxEdits);
    });
    return meant === undefined ? [] : [{ variable, meant }];
  });
}

/** The name of every setting. */
function listSettings(): Set<string> {
  const names = new Set<string>();
  readSettings({ read: (name) => void names.add(name), show: String });
  return names;
}

/** Addresses of PostgreSQL as they were given, without empty ones. */
function postgresUrls(setting: string, given: string[]): string[] {
  const urls = given.filter((url) => url !== '');
  for (const url of urls) parsePostgresAddress(url, setting);
  return urls;
}

function publicOrigin(env: Env): string | undefined {
  const form = 'an address such as https://play.example.org, without user, path, query or fragment';
  return parsed(passwordless(env), 'PUBLIC_URL', tryParseOrigin, form);
}

function tryParseOrigin(text: string): string | undefined {
  const url = URL.parse(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  return url && isWeb && !/[?#@]/.test(text) && url.pathname === '/' ? url.origin : undefined;
}

/** A colour, with or without its `#`, which begins a comment in a file `.env`. */
function tryParseColour(text: string): string | undefined {
  const [, digits] = /^#?([0-9a-f]{6})$/i.exec(text) ?? [];
  return digits && `#${digits}`;
}

/** The environment, for values that may have a password by mistake. */
function passwordless(env: Env): Env {
  return { ...env, show: withoutPassword };
}

/** The host and port of an address, in Unicode rather than Punycode. */
function unicodeHostOf(address: string): string {
  const { hostname, port } = new URL(address);
  return domainToUnicode(hostname) + (port && `:${port}`);
}

function steamIds(env: Env, variable: string): SteamId64[] {
  return parsedList(env, variable, tryParseSteamId, 'SteamIDs separated by commas');
}

function soundAudience(env: Env): SoundAudience {
  const form = `everyone, or any of ${SOUND_GROUPS.join(', ')}, separated by commas`;
  const tryParse = (name: string) => ['everyone' as const, ...SOUND_GROUPS].find((each) => each === name);
  const names = parsedList(env, 'SOUND_FOR', tryParse, form);
  const groups = SOUND_GROUPS.filter((group) => names.includes(group));
  return names.includes('everyone') || groups.length === 0 ? 'everyone' : groups;
}

function sessionSecret(secrets: Env): string | undefined {
  const value = secrets.read('SESSION_SECRET');
  if (value === undefined || value.length >= 32) return value;
  throw new InvalidInput('SESSION_SECRET is too short: use at least 32 characters');
}

function roles(env: Env): readonly Role[] {
  const tryParse = (value: string) => ROLES.find((role) => role === value);
  const roles = parsedList(env, 'ROLES', tryParse, `any of ${ROLES.join(', ')}, separated by commas`);
  return roles.length === 0 ? ROLES : roles;
}

function deepFreeze<T extends object>(value: T): Readonly<T> {
  for (const inner of Object.values(value)) {
    if (typeof inner === 'object' && inner !== null) deepFreeze(inner);
  }
  return Object.freeze(value);
}
