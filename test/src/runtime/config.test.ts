import { describe, expect, test } from 'bun:test';
import { unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { type Config, parseConfig } from '../../../src/runtime/config.ts';
import { ESCAPES } from '../../../src/runtime/database-address.ts';
import { aSteamId } from '../../support/database/builders.ts';

/** The settings of a penalty source that are the same for all of them. */
const UNSET_SOURCE = {
  url: undefined,
  timezone: 'UTC',
  prefix: undefined,
  intervalSeconds: 60,
  flags: undefined,
  panel: [],
  liftUrl: undefined,
};

describe('without any variable', () => {
  test('every setting has the default of the contract', () => {
    expect(parseConfig({})).toEqual({
      host: '0.0.0.0',
      port: 3000,
      healthPort: 3001,
      isHealthPortSet: false,
      publicUrl: 'http://localhost:3000',
      isPublicUrlSet: false,
      timeZone: 'UTC',
      site: { name: 'localhost:3000', logoUrl: undefined, accent: undefined, discordInviteUrl: undefined },
      databaseUrl: undefined,
      databaseReplicaUrls: [],
      dataDir: './data',
      storageDir: './storage',
      discord: {
        token: undefined,
        showsPresence: true,
        language: undefined,
        guildId: undefined,
        apiUrl: 'https://discord.com/api',
        roles: undefined,
        clientId: undefined,
        clientSecret: undefined,
      },
      steam: {
        openIdUrl: 'https://steamcommunity.com/openid/login',
        apiKey: undefined,
        apiUrl: 'https://api.steampowered.com',
      },
      ownerSteamIds: [],
      moderatorSteamIds: [],
      arePenaltiesPublic: false,
      appealUrl: undefined,
      appeals: undefined,
      erasedKeptDays: 35,
      liftFor: 'admins',
      securityContact: undefined,
      tokensFor: 'everyone',
      redisUrl: undefined,
      trustedProxies: [],
      rateLimit: { publicPerMinute: 30, protectedPerMinute: 60 },
      metricsAllow: [],
      webhookAllow: [],
      pollIntervalSeconds: 15,
      sound: { maxSeconds: 10, maxUploadBytes: 20 * 1024 * 1024, loudnessLufs: -18, audience: 'everyone' },
      ffmpegPath: undefined,
      sources: {
        simpleadmin: { ...UNSET_SOURCE, source: 'simpleadmin' },
        sourcebans: { ...UNSET_SOURCE, source: 'sourcebans', prefix: 'sb_' },
        iks: { ...UNSET_SOURCE, source: 'iks' },
      },
      vipcore: { url: undefined, flags: [{ flag: 'has_svip', permissions: ['*'] }] },
      sessionSecret: undefined,
      roles: ['api', 'bot', 'poller', 'media', 'sync'],
      drainSeconds: 3,
      logLevel: 'info',
      misspelled: [],
    });
  });

  test('an empty or blank one counts as unset', () => {
    const asked: string[] = [];
    const blank = new Proxy<Record<string, string>>(
      {},
      {
        get: (_, name) => {
          asked.push(String(name));
          return asked.length % 2 ? '' : '  ';
        },
      },
    );
    expect(parseConfig(blank)).toEqual(parseConfig({}));
    expect(new Set(asked).size).toBeGreaterThan(30);
  });
});

describe('a good value', () => {
  /** Settings that a file may hold, as secrets do: the field of each, and a value, which is taken as it is. */
  const SECRETS: [name: string, field: string, value: string][] = [
    ['DATABASE_URL', 'databaseUrl', 'postgres://user:p%40ss@db.example:5433/community?sslmode=require'],
    ['REDIS_URL', 'redisUrl', 'rediss://:pass@redis.example:6380'],
    ['SESSION_SECRET', 'sessionSecret', 'x'.repeat(32)],
    ['STEAM_API_KEY', 'steam.apiKey', 'KEY'],
    ['DISCORD_TOKEN', 'discord.token', 'secret'],
    ['DISCORD_CLIENT_SECRET', 'discord.clientSecret', 'secret'],
    ['SIMPLEADMIN_URL', 'sources.simpleadmin.url', 'sqlite:/srv/x.db'],
    ['SOURCEBANS_URL', 'sources.sourcebans.url', 'mysql://a:secret@db/b'],
    ['IKS_URL', 'sources.iks.url', 'mariadb://reader@db/iks'],
    ['VIPCORE_URL', 'vipcore.url', 'mysql://reader@db/vip'],
  ];
  /** Other settings that are taken as they are. */
  const PLAIN: typeof SECRETS = [
    ['SITE_LOGO_URL', 'site.logoUrl', 'https://x.example/logo.png'],
    ['SITE_ACCENT', 'site.accent', '#3355FF'],
    ['DISCORD_INVITE_URL', 'site.discordInviteUrl', 'https://discord.gg/abc'],
    ['DATA_DIR', 'dataDir', '/srv/data'],
    ['STORAGE_DIR', 'storageDir', '/srv/storage'],
    ['DISCORD_LOCALE', 'discord.language', 'pl'],
    ['DISCORD_GUILD_ID', 'discord.guildId', '1152921504606846977'],
    ['DISCORD_API_URL', 'discord.apiUrl', 'http://127.0.0.1:9999/api'],
    ['DISCORD_CLIENT_ID', 'discord.clientId', '1'],
    ['TIME_ZONE', 'timeZone', 'Europe/Warsaw'],
    ['STEAM_OPENID_URL', 'steam.openIdUrl', 'http://127.0.0.1/openid'],
    ['STEAM_API_URL', 'steam.apiUrl', 'http://127.0.0.1'],
    ['APPEAL_URL', 'appealUrl', 'https://forum.example.org/a'],
    ['SECURITY_CONTACT', 'securityContact', 'mailto:a@play.example'],
    ['TOKENS_FOR', 'tokensFor', 'admins'],
    ['FFMPEG_PATH', 'ffmpegPath', '/usr/bin/ffmpeg'],
    ['SIMPLEADMIN_SOURCE', 'sources.simpleadmin.source', 'community-2'],
    ['SIMPLEADMIN_TIMEZONE', 'sources.simpleadmin.timezone', 'Europe/Warsaw'],
    ['SOURCEBANS_SOURCE', 'sources.sourcebans.source', 'old-bans'],
    ['SOURCEBANS_PREFIX', 'sources.sourcebans.prefix', 'web_'],
    ['IKS_SOURCE', 'sources.iks.source', 'iks-2'],
    ['LOG_LEVEL', 'logLevel', 'debug'],
  ];
  /** What other settings change, by the path of the field. */
  const PARSED: [settings: Record<string, string>, changes: Record<string, unknown>][] = [
    [{ HOST: ' ::1 ' }, { host: '::1' }],
    [{ PORT: '0' }, { port: 0, publicUrl: 'http://localhost:0', 'site.name': 'localhost:0' }],
    [{ HEALTH_PORT: '8081' }, { healthPort: 8081, isHealthPortSet: true }],
    [
      { PUBLIC_URL: 'https://play.example.org/', SITE_NAME: ' Zagrywka 🎯 ' },
      { publicUrl: 'https://play.example.org', isPublicUrlSet: true, 'site.name': 'Zagrywka 🎯' },
    ],
    [{ SITE_ACCENT: '3355FF' }, { 'site.accent': '#3355FF' }],
    [
      { DATABASE_REPLICA_URLS: 'postgres://a/x, postgresql://b/x,' },
      { databaseReplicaUrls: ['postgres://a/x', 'postgresql://b/x'] },
    ],
    [{ DISCORD_PRESENCE: '0' }, { 'discord.showsPresence': false }],
    [
      {
        DISCORD_GUILD_ID: '1',
        DISCORD_ROLE_FLAGS: 'has_svip=11, boost;is_serviceplus=12',
        DISCORD_GIVE_ROLES: 'linked=13,14;is_banned=14',
      },
      {
        'discord.guildId': '1',
        'discord.roles': {
          flags: [
            { flag: 'has_svip', permissions: ['11', 'boost'] },
            { flag: 'is_serviceplus', permissions: ['12'] },
          ],
          gives: [
            { fact: 'linked', roleId: '13' },
            { fact: 'linked', roleId: '14' },
            { fact: 'is_banned', roleId: '14' },
          ],
        },
      },
    ],
    [{ MODERATOR_STEAMIDS: aSteamId(4) }, { moderatorSteamIds: [aSteamId(4)] }],
    [
      { OWNER_STEAMIDS: `${aSteamId(1)}, STEAM_0:0:19867137, [U:1:39734275]` },
      { ownerSteamIds: [aSteamId(1), aSteamId(2), aSteamId(3)] },
    ],
    [{ PUBLIC_PENALTIES: '1' }, { arePenaltiesPublic: true }],
    [
      { TRUSTED_PROXIES: '10.0.0.0/8, 127.0.0.1, fd00::/8, ::1' },
      { trustedProxies: ['10.0.0.0/8', '127.0.0.1', 'fd00::/8', '::1'] },
    ],
    [{ RATE_LIMIT_PUBLIC: '1' }, { 'rateLimit.publicPerMinute': 1 }],
    [{ RATE_LIMIT_PROTECTED: '1000000000' }, { 'rateLimit.protectedPerMinute': 1_000_000_000 }],
    [{ METRICS_ALLOW: '192.168.0.0/16' }, { metricsAllow: ['192.168.0.0/16'] }],
    [{ WEBHOOK_ALLOW: '10.1.0.0/16, fd00::/8' }, { webhookAllow: ['10.1.0.0/16', 'fd00::/8'] }],
    [{ POLL_INTERVAL_SECONDS: '1' }, { pollIntervalSeconds: 1 }],
    [{ SOUND_MAX_SECONDS: '7' }, { 'sound.maxSeconds': 7 }],
    [{ SOUND_MAX_UPLOAD_MB: '512' }, { 'sound.maxUploadBytes': 512 * 1024 * 1024 }],
    [{ SOUND_LOUDNESS_LUFS: '-14.5' }, { 'sound.loudnessLufs': -14.5 }],
    [{ SOUND_FOR: 'svip, admin,svip' }, { 'sound.audience': ['svip', 'admin'] }],
    [{ SIMPLEADMIN_INTERVAL_SECONDS: '5' }, { 'sources.simpleadmin.intervalSeconds': 5 }],
    [
      { SIMPLEADMIN_PANEL_URL: ' bans = https://panel.example/bans?id={id} ; mutes=https://panel.example/;' },
      {
        'sources.simpleadmin.panel': [
          { table: 'sa_bans', address: 'https://panel.example/bans?id={id}' },
          { table: 'sa_mutes', address: 'https://panel.example/' },
        ],
      },
    ],
    [
      { SIMPLEADMIN_FLAGS: ' is_admin = @css/ban, #css/admin ;has_svip=@css/vip; ' },
      {
        'sources.simpleadmin.flags': [
          { flag: 'is_admin', permissions: ['@css/ban', '#css/admin'] },
          { flag: 'has_svip', permissions: ['@css/vip'] },
        ],
      },
    ],
    [{ LIFT_FOR: 'moderators' }, { liftFor: 'moderators' }],
    [
      { IKS_URL: 'mysql://mirror@db/iks', IKS_LIFT_URL: 'mysql://lift@db/iks' },
      { 'sources.iks.url': 'mysql://mirror@db/iks', 'sources.iks.liftUrl': 'mysql://lift@db/iks' },
    ],
    [{ SOURCEBANS_INTERVAL_SECONDS: '30' }, { 'sources.sourcebans.intervalSeconds': 30 }],
    [
      { SOURCEBANS_PANEL_URL: 'http://bans.example.org/{steamid64}?x=1;2' },
      {
        'sources.sourcebans.panel': [
          { table: 'bans', address: 'http://bans.example.org/{steamid64}?x=1;2' },
          { table: 'comms', address: 'http://bans.example.org/{steamid64}?x=1;2' },
        ],
      },
    ],
    [{ IKS_INTERVAL_SECONDS: '86400' }, { 'sources.iks.intervalSeconds': 86_400 }],
    [
      { VIPCORE_FLAGS: 'is_serviceplus=PREMIUM' },
      { 'vipcore.flags': [{ flag: 'is_serviceplus', permissions: ['PREMIUM'] }] },
    ],
    [{ ROLES: 'api, poller' }, { roles: ['api', 'poller'] }],
    [{ DRAIN_SECONDS: '10' }, { drainSeconds: 10 }],
    [{ ERASED_KEPT_DAYS: '400' }, { erasedKeptDays: 400 }],
  ];

  function configWith(changes: Record<string, unknown>): Config {
    const config = structuredClone(parseConfig({}));
    for (const [path, value] of Object.entries(changes)) {
      const names = path.split('.');
      const part = names.slice(0, -1).reduce((whole, name) => Reflect.get(whole, name), config);
      Reflect.set(part, names.at(-1) ?? '', value);
    }
    return config;
  }

  test.each([...SECRETS, ...PLAIN])('%s sets only %s', (name, field, value) => {
    expect(parseConfig({ [name]: value })).toEqual(configWith({ [field]: value }));
  });

  test.each(SECRETS)('%s is read from a file', async (name, field, value) => {
    const path = join(tmpdir(), `setting-${crypto.randomUUID()}`);
    await Bun.write(path, `${value}\n`);
    expect(parseConfig({ [`${name}_FILE`]: path })).toEqual(configWith({ [field]: value }));
    await unlink(path);
  });

  test('DATABASE_REPLICA_URLS are read from a file', async () => {
    const urls = ['postgres://a:secret@one/x', 'postgres://a:secret@two/x'];
    const path = join(tmpdir(), `setting-${crypto.randomUUID()}`);
    await Bun.write(path, `${urls.join(', ')}\n`);
    expect(parseConfig({ DATABASE_REPLICA_URLS_FILE: path })).toEqual(
      configWith({ databaseReplicaUrls: urls }),
    );
    await unlink(path);
  });

  test('the address that may lift penalties is read from a file', async () => {
    const path = join(tmpdir(), `setting-${crypto.randomUUID()}`);
    await Bun.write(path, 'mysql://lift:secret@db/iks\n');
    const config = parseConfig({ IKS_URL: 'mysql://mirror@db/iks', IKS_LIFT_URL_FILE: path });
    expect(config.sources.iks.liftUrl).toBe('mysql://lift:secret@db/iks');
    await unlink(path);
  });

  for (const [settings, changes] of PARSED) {
    test(`${Object.keys(settings).join(', ')} sets only ${Object.keys(changes).join(', ')}`, () => {
      expect(parseConfig(settings)).toEqual(configWith(changes));
    });
  }

  test('the public address is an origin as browsers send it, however it is written', () => {
    for (const [written, origin] of [
      ['HTTPS://Play.Example.ORG', 'https://play.example.org'],
      ['https://play.example.org:443/', 'https://play.example.org'],
      ['http://play.example.org:80', 'http://play.example.org'],
      ['https://play.example.org:8443', 'https://play.example.org:8443'],
      ['https://łódź.example', 'https://xn--d-uga0v4h.example'],
      ['http://[::1]:3000', 'http://[::1]:3000'],
    ] as const) {
      const config = parseConfig({ PUBLIC_URL: written });
      expect([written, config.publicUrl, config.isPublicUrlSet]).toEqual([written, origin, true]);
    }
  });

  test('nothing can be changed afterwards', () => {
    const config = parseConfig({ TRUSTED_PROXIES: '::1' });
    for (const part of [config, config.sound, config.roles, config.trustedProxies, config.sources.iks]) {
      expect(Object.isFrozen(part)).toBe(true);
    }
  });
});

/** The one line with which startup fails for a bad setting. */
function refusalOf(settings: Record<string, string>): string {
  try {
    parseConfig(settings);
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
  throw new Error(`${JSON.stringify(settings)} was taken`);
}

describe('a bad value ends with one line that names variable, value and what is allowed:', () => {
  const port = 'a whole number from 0 to 65535';
  const limit = 'a whole number from 1 to 1000000000';
  const webAddress = 'an address that begins with http:// or https://';
  const origin = 'an address such as https://play.example.org, without user, path, query or fragment';
  const database = `postgres://user:password@host:port/database; ${ESCAPES}`;
  const networks = 'addresses or networks such as 10.0.0.0/8, 127.0.0.1 or fd00::/8, separated by commas';
  const roles = 'any of api, bot, poller, media, sync, separated by commas';
  const levels = 'one of trace, debug, info, warn, error, fatal, silent';
  const discordId = 'a Discord id of 1 to 20 digits';
  const ofFlags = 'of the flags is_admin, is_moderator, has_svip, is_serviceplus';
  const roleFlags = `a mapping such as has_svip=ROLE_ID,boost;is_serviceplus=ROLE_ID, ${ofFlags}`;
  const facts = 'linked, is_banned, is_owner, is_admin, is_moderator, has_svip, is_serviceplus';
  const flags = `a mapping such as is_admin=NAME,NAME;has_svip=NAME, ${ofFlags}`;
  const panel =
    'an http or https address of at most 256 characters, in which {id} and {steamid64} may stand, or bans=ADDRESS;comms=ADDRESS';
  const mysqlAddress = 'mysql://user:password@host/database';
  const panelAt = (path: string) => `https://panel.example.org/${path}`;

  test.each([
    ['PORT', ['x', '-1', '65536', '3000.5', '1e3', '0x10', '٣', '3000;', '1\n2'], port],
    ['HEALTH_PORT', ['x', '-1', '65536'], port],
    ['PUBLIC_URL', ['play.example.org', 'ftp://x', 'http//x', '/', 'https://a b', 'https://x:99999'], origin],
    ['PUBLIC_URL', ['https://x/path', 'https://x/?', 'https://x?a=b', 'https://x#top'], origin],
    ['DATABASE_URL', ['mysql://x', 'db.example', 'postgres'], database],
    ['SITE_NAME', ['★ ★', 'x'.repeat(65), 'a\u0000b'], '1 to 64 characters with a letter or digit'],
    ['SITE_LOGO_URL', ['logo.png', 'ftp://x/logo.png'], webAddress],
    ['SITE_ACCENT', ['red', '#fff', '#12345g', '#123456;}'], 'a colour such as #f7b23b'],
    ['DISCORD_INVITE_URL', ['discord.gg/abc', 'javascript:alert(1)'], 'an address that begins with https://'],
    ['DISCORD_GUILD_ID', ['x', '1'.repeat(21), '-1'], discordId],
    ['DISCORD_CLIENT_ID', ['x'], discordId],
    ['DISCORD_API_URL', ['discord.com'], webAddress],
    [
      'DISCORD_ROLE_FLAGS',
      ['11', 'has_svip=x', 'has_svip=11,boosts', 'is_owner=11', 'has_svip=0'],
      roleFlags,
    ],
    ['DISCORD_ROLE_FLAGS', ['has_svip=11;has_svip=12'], roleFlags],
    [
      'DISCORD_GIVE_ROLES',
      ['linked', 'linked=boost', 'muted=11', 'linked=11;linked=12', 'linked=11,'],
      `a mapping such as linked=ROLE_ID;has_svip=ROLE_ID, of ${facts}`,
    ],
    ['DISCORD_PRESENCE', ['off', '2'], 'one of 0, 1'],
    ['DISCORD_LOCALE', ['de', 'pl-PL', 'PL'], 'one of en, pl'],
    ['TIME_ZONE', ['Mars/Base', '+01:00', 'Warsaw'], 'a time zone such as UTC or Europe/Warsaw'],
    ['STEAM_OPENID_URL', ['steam'], webAddress],
    ['STEAM_API_URL', ['steam'], webAddress],
    ['OWNER_STEAMIDS', ['1', '0', 'BOT'], 'SteamIDs separated by commas'],
    ['SOURCEBANS_FLAGS', [';', 'is_admin', 'is_admin=', 'is_admin=a,,b', 'is_admin=a=b'], flags],
    ['SOURCEBANS_FLAGS', ['is_owner=z', 'x=z', 'is_admin=a;is_admin=b'], flags],
    ['SIMPLEADMIN_LIFT_URL', ['sqlite:/srv/cs2.sqlite', 'mysql://', 'db/cs2'], mysqlAddress],
    ['LIFT_FOR', ['everyone', 'Admins'], 'one of admins, moderators'],
    ['SOURCEBANS_PANEL_URL', ['panel.example.org', 'ftp://x/{id}', 'https:// example.org'], panel],
    ['SOURCEBANS_PANEL_URL', [panelAt('{ID}'), panelAt('{id'), panelAt('{steamid}')], panel],
    ['SOURCEBANS_PANEL_URL', [`https://x/${'y'.repeat(247)}`, ';', 'bans=', 'bans=panel'], panel],
    ['SOURCEBANS_PANEL_URL', [`mutes=${panelAt('{id}')}`, `constructor=${panelAt('{id}')}`], panel],
    ['SOURCEBANS_PANEL_URL', ['bans=https://x;bans=https://y', 'bans=https://x;comms'], panel],
    ['APPEAL_URL', ['forum', 'discord://x'], webAddress],
    ['APPEALS', ['2', 'yes'], 'one of 0, 1'],
    ['ERASED_KEPT_DAYS', ['0', '401', 'never'], 'a whole number from 1 to 400'],
    ['APPEAL_AGAIN_DAYS', ['-1', '3651', 'never'], 'a whole number from 0 to 3650'],
    ['APPEAL_URL', [`https://x/${'y'.repeat(503)}`], 'an address of at most 512 characters'],
    ['REDIS_URL', ['http://x'], 'an address that begins with redis:// or rediss:// or valkey://'],
    ['TRUSTED_PROXIES', ['x', '10.0.0', '1.2.3.256', '[::1]', 'fe80::1%eth0'], networks],
    ['TRUSTED_PROXIES', ['10.0.0.0/33', '::1/129', '10.0.0.0/8/8', '10.0.0.0/'], networks],
    ['TRUSTED_PROXIES', ['010.0.0.1/8', '10.0.0.01', '0x0a.0.0.1', '::ffff:010.0.0.0/104'], networks],
    ['METRICS_ALLOW', ['localhost'], networks],
    ['WEBHOOK_ALLOW', ['website.internal', '10.0.0.0/33'], networks],
    ['RATE_LIMIT_PUBLIC', ['0', '-1', 'x', '1000000001', '1.5'], limit],
    ['RATE_LIMIT_PROTECTED', ['0', '1e9'], limit],
    ['POLL_INTERVAL_SECONDS', ['0', '3601', 'x'], 'a whole number from 1 to 3600'],
    ['SOUND_MAX_SECONDS', ['0', '61'], 'a whole number from 1 to 60'],
    ['SOUND_MAX_UPLOAD_MB', ['0', '513'], 'a whole number from 1 to 512'],
    [
      'SOUND_FOR',
      ['vip', 'SVIP', 'svip;admin', 'owner'],
      'everyone, or any of svip, serviceplus, admin, separated by commas',
    ],
    ['SOUND_LOUDNESS_LUFS', ['-31', '-9', 'loud', '-1e1'], 'a number from -30 to -10'],
    [
      'SIMPLEADMIN_URL',
      ['postgres://x', 'sqlite:', 'x'],
      'mysql://user:password@host/database or sqlite:PATH',
    ],
    ['SIMPLEADMIN_SOURCE', ['a b', 'x'.repeat(65), '../x'], '1 to 64 letters, digits, . : _ -'],
    ['SIMPLEADMIN_TIMEZONE', ['Mars/Olympus', 'CET+1x'], 'a time zone such as UTC or Europe/Warsaw'],
    ['SIMPLEADMIN_INTERVAL_SECONDS', ['0', '86401'], 'a whole number from 1 to 86400'],
    ['ROLES', ['web', 'API'], roles],
    ['TOKENS_FOR', ['owners', 'Everyone', 'everyone,admins'], 'one of everyone, admins'],
    ['LOG_LEVEL', ['verbose', 'INFO'], levels],
  ])('%s refuses %j', (name, values, allowed) => {
    for (const value of values) {
      expect(refusalOf({ [name]: value })).toBe(
        `${name}=${JSON.stringify(value)} isn't valid: use ${allowed}`,
      );
    }
  });

  test.each([
    [
      'roles on Discord that both give a flag and are given',
      {
        DISCORD_GUILD_ID: '1',
        DISCORD_ROLE_FLAGS: 'has_svip=11,boost;is_admin=12',
        DISCORD_GIVE_ROLES: 'linked=13;is_banned=12',
      },
      'DISCORD_ROLE_FLAGS and DISCORD_GIVE_ROLES both name the role 12: a role either gives flags or is given',
    ],
    [
      'roles that give flags in no guild',
      { DISCORD_ROLE_FLAGS: 'has_svip=11' },
      'DISCORD_ROLE_FLAGS needs DISCORD_GUILD_ID, the guild of the roles',
    ],
    [
      'roles that are given in no guild',
      { DISCORD_GIVE_ROLES: 'linked=13' },
      'DISCORD_GIVE_ROLES needs DISCORD_GUILD_ID, the guild of the roles',
    ],
    [
      'appeals in two places',
      { APPEALS: '1', APPEAL_URL: 'https://forum.example.org' },
      'APPEALS=1 and APPEAL_URL are both set: players appeal in one place',
    ],
    [
      'an account that lifts penalties of no mirror',
      { IKS_LIFT_URL: 'mysql://lift:hunter2@db/iks' },
      'IKS_LIFT_URL needs IKS_URL, the same database for the mirror: mysql://user:password@host/database',
    ],
    [
      'an account that lifts penalties of a mirrored file',
      { SIMPLEADMIN_LIFT_URL: 'mysql://lift:hunter2@db/cs2', SIMPLEADMIN_URL: 'sqlite:/srv/cs2.sqlite' },
      'SIMPLEADMIN_LIFT_URL needs SIMPLEADMIN_URL, the same database for the mirror: mysql://user:password@host/database',
    ],
    [
      'a bad replica',
      { DATABASE_REPLICA_URLS: 'postgres://a/x, nonsense' },
      `DATABASE_REPLICA_URLS="nonsense" isn't valid: use ${database}`,
    ],
    ['a bad proxy', { TRUSTED_PROXIES: '::1, x' }, `TRUSTED_PROXIES="x" isn't valid: use ${networks}`],
    ['a bad role', { ROLES: 'api,web' }, `ROLES="web" isn't valid: use ${roles}`],
    [
      'a bad SteamID',
      { OWNER_STEAMIDS: `${aSteamId(1)},BOT` },
      'OWNER_STEAMIDS="BOT" isn\'t valid: use SteamIDs separated by commas',
    ],
    [
      'a short secret, which is not shown',
      { SESSION_SECRET: 'hunter2' },
      'SESSION_SECRET is too short: use at least 32 characters',
    ],
    [
      'a secret that is set twice, neither of which is shown',
      { DISCORD_TOKEN: 'hunter2', DISCORD_TOKEN_FILE: '/run/secrets/token' },
      'DISCORD_TOKEN and DISCORD_TOKEN_FILE are both set: use one of them',
    ],
    [
      'a secret whose file is missing',
      { DATABASE_URL_FILE: '/run/absent' },
      'DATABASE_URL_FILE="/run/absent" isn\'t valid: use a file that this process may read',
    ],
    [
      'a secret whose file is empty',
      { REDIS_URL_FILE: '/dev/null' },
      'REDIS_URL_FILE="/dev/null" isn\'t valid: use a file that is not empty',
    ],
    [
      'a value of two lines in one line',
      { HOST: 'x', LOG_LEVEL: 'a\r\nb' },
      `LOG_LEVEL="a\\r\\nb" isn't valid: use ${levels}`,
    ],
  ])('refuses %s', (_, settings, line) => {
    expect(refusalOf({ ...settings })).toBe(line);
  });

  test('a parameter of the address of a database that means nothing here, with its setting', () => {
    const known = 'host, sslmode, sslrootcert, sslcert, sslkey, sslpassword, sslnegotiation';
    for (const [parameter, line] of [
      ['max=9', `the unknown parameter "max": use ${known}`],
      ['schema=public&user=hunter2', `the unknown parameter "user": use ${known}`],
      ['SSLMODE=require', `the unknown parameter "SSLMODE": use ${known}`],
      ['host=db.example', 'the parameter host="db.example": use the folder of a Unix socket'],
      [
        'sslmode=on',
        'the parameter sslmode="on": use one of disable, allow, prefer, require, verify-ca, verify-full',
      ],
      ['sslnegotiation=no', 'the parameter sslnegotiation="no": use one of postgres, direct'],
      [
        'sslrootcert=/none/ca.pem',
        'the parameter sslrootcert="/none/ca.pem": use a file that this process may read',
      ],
    ]) {
      for (const name of ['DATABASE_URL', 'DATABASE_REPLICA_URLS']) {
        const url = `postgres://user:hunter2@db/x?${parameter}`;
        expect(refusalOf({ [name]: url })).toBe(`${name} has ${line}`);
      }
    }
  });

  test('a password that an unescaped character cuts, which is not shown', () => {
    for (const url of ['u:hunter#2@db/x', 'u:12/hunter2@db/x', 'u:12?hunter2@db/x', 'u:50%hunter2@db/x']) {
      expect(refusalOf({ DATABASE_URL: `postgres://${url}` })).toBe(
        `DATABASE_URL="postgres://…@db/x" isn't valid: use ${database}`,
      );
    }
  });

  test('addresses with a password, which is not shown', () => {
    for (const [name, value] of [
      ['DATABASE_URL', 'mysql://user:hunter2@host/db'],
      ['DATABASE_URL', 'mysql://user:a@hunter2@host/db'],
      ['DATABASE_URL', 'user:hunter2@host/db'],
      ['DATABASE_URL', 'mysql://user:a/hunter2@host/db'],
      ['PUBLIC_URL', 'https://user:hunter2@host'],
      ['DATABASE_REPLICA_URLS', 'mysql://user:hunter2@host/db'],
      ['REDIS_URL', 'http://:hunter2@host'],
      ['SIMPLEADMIN_URL', 'postgres://user:hunter2@host/db'],
    ] as const) {
      const line = refusalOf({ [name]: value });
      expect(line).not.toContain('hunter2');
      expect(line).toContain('…@host');
    }
  });
});
