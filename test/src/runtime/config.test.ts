import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Config, parseConfig } from '../../../src/runtime/config.ts';
import { aSteamId } from '../../support/database/builders.ts';

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
        simpleadmin: {
          url: undefined,
          source: 'simpleadmin',
          timezone: 'UTC',
          intervalSeconds: 60,
          flags: undefined,
          panel: [],
        },
        sourcebans: {
          url: undefined,
          source: 'sourcebans',
          prefix: 'sb_',
          intervalSeconds: 60,
          flags: undefined,
          panel: [],
        },
        iks: { url: undefined, source: 'iks', intervalSeconds: 60, flags: undefined, panel: [] },
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

  test('.env.example lists each, and no other', () => {
    const asked = new Set<string>();
    parseConfig(
      new Proxy<Record<string, string>>({}, { get: (_, name) => void asked.add(String(name)) as undefined }),
    );
    const listed = readFileSync(new URL('../../../.env.example', import.meta.url), 'utf8').matchAll(
      /^#? ?([A-Z][A-Z0-9_]+)=/gm,
    );
    expect([...new Set([...listed].map((match) => match[1] ?? ''))].sort()).toEqual([...asked].sort());
  });
});

describe('a good value', () => {
  test.each([
    ['DATABASE_URL', 'postgres://user:secret@db/x', (config: Config) => config.databaseUrl],
    ['REDIS_URL', 'redis://:secret@redis', (config: Config) => config.redisUrl],
    ['SESSION_SECRET', 's'.repeat(32), (config: Config) => config.sessionSecret],
    ['STEAM_API_KEY', 'KEY', (config: Config) => config.steam.apiKey],
    ['DISCORD_TOKEN', 'token', (config: Config) => config.discord.token],
    ['DISCORD_CLIENT_SECRET', 'secret', (config: Config) => config.discord.clientSecret],
    ['SIMPLEADMIN_URL', 'sqlite:/srv/x.db', (config: Config) => config.sources.simpleadmin.url],
    ['SOURCEBANS_URL', 'mysql://u:secret@db/x', (config: Config) => config.sources.sourcebans.url],
    ['IKS_URL', 'mysql://u:secret@db/x', (config: Config) => config.sources.iks.url],
    ['VIPCORE_URL', 'mysql://u:secret@db/x', (config: Config) => config.vipcore.url],
  ] as const)('%s is read from a file', async (name, value, read) => {
    const path = join(tmpdir(), `setting-${crypto.randomUUID()}`);
    await Bun.write(path, `${value}\n`);
    const config = parseConfig({ [`${name}_FILE`]: path });
    expect(read(config)).toBe(value);
    await unlink(path);
  });

  /** What each setting changes in the configuration without any, by the path of the field. */
  const rows: [settings: Record<string, string>, changes: Record<string, unknown>][] = [
    [{ HOST: ' ::1 ' }, { host: '::1' }],
    [{ PORT: '0' }, { port: 0, publicUrl: 'http://localhost:0', 'site.name': 'localhost:0' }],
    [{ HEALTH_PORT: '8081' }, { healthPort: 8081, isHealthPortSet: true }],
    [
      { PUBLIC_URL: 'https://play.example.org/', SITE_NAME: ' Zagrywka 🎯 ' },
      { publicUrl: 'https://play.example.org', isPublicUrlSet: true, 'site.name': 'Zagrywka 🎯' },
    ],
    [{ SITE_LOGO_URL: 'https://x.example/logo.png' }, { 'site.logoUrl': 'https://x.example/logo.png' }],
    [{ SITE_ACCENT: '#3355FF' }, { 'site.accent': '#3355FF' }],
    [{ SITE_ACCENT: '3355FF' }, { 'site.accent': '#3355FF' }],
    [{ DISCORD_INVITE_URL: 'https://discord.gg/abc' }, { 'site.discordInviteUrl': 'https://discord.gg/abc' }],
    [
      { DATABASE_URL: 'postgres://user:p%40ss@db.example:5433/community?sslmode=require' },
      { databaseUrl: 'postgres://user:p%40ss@db.example:5433/community?sslmode=require' },
    ],
    [
      { DATABASE_REPLICA_URLS: 'postgres://a/x, postgresql://b/x,' },
      { databaseReplicaUrls: ['postgres://a/x', 'postgresql://b/x'] },
    ],
    [{ DATA_DIR: '/srv/data' }, { dataDir: '/srv/data' }],
    [{ STORAGE_DIR: '/srv/storage' }, { storageDir: '/srv/storage' }],
    [{ DISCORD_TOKEN: 'secret' }, { 'discord.token': 'secret' }],
    [{ DISCORD_PRESENCE: '0' }, { 'discord.showsPresence': false }],
    [{ DISCORD_LOCALE: 'pl' }, { 'discord.language': 'pl' }],
    [{ DISCORD_GUILD_ID: '1152921504606846977' }, { 'discord.guildId': '1152921504606846977' }],
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
    [{ DISCORD_API_URL: 'http://127.0.0.1:9999/api' }, { 'discord.apiUrl': 'http://127.0.0.1:9999/api' }],
    [{ DISCORD_CLIENT_ID: '1' }, { 'discord.clientId': '1' }],
    [{ DISCORD_CLIENT_SECRET: 'secret' }, { 'discord.clientSecret': 'secret' }],
    [{ TIME_ZONE: 'Europe/Warsaw' }, { timeZone: 'Europe/Warsaw' }],
    [{ STEAM_OPENID_URL: 'http://127.0.0.1/openid' }, { 'steam.openIdUrl': 'http://127.0.0.1/openid' }],
    [{ STEAM_API_KEY: 'KEY' }, { 'steam.apiKey': 'KEY' }],
    [{ STEAM_API_URL: 'http://127.0.0.1' }, { 'steam.apiUrl': 'http://127.0.0.1' }],
    [{ MODERATOR_STEAMIDS: aSteamId(4) }, { moderatorSteamIds: [aSteamId(4)] }],
    [
      { OWNER_STEAMIDS: `${aSteamId(1)}, STEAM_0:0:19867137, [U:1:39734275]` },
      { ownerSteamIds: [aSteamId(1), aSteamId(2), aSteamId(3)] },
    ],
    [{ PUBLIC_PENALTIES: '1' }, { arePenaltiesPublic: true }],
    [{ APPEAL_URL: 'https://forum.example.org/a' }, { appealUrl: 'https://forum.example.org/a' }],
    [{ SECURITY_CONTACT: 'mailto:a@play.example' }, { securityContact: 'mailto:a@play.example' }],
    [{ TOKENS_FOR: 'admins' }, { tokensFor: 'admins' }],
    [{ REDIS_URL: 'rediss://:pass@redis.example:6380' }, { redisUrl: 'rediss://:pass@redis.example:6380' }],
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
    [{ FFMPEG_PATH: '/usr/bin/ffmpeg' }, { ffmpegPath: '/usr/bin/ffmpeg' }],
    [{ SIMPLEADMIN_URL: 'sqlite:/srv/x.db' }, { 'sources.simpleadmin.url': 'sqlite:/srv/x.db' }],
    [{ SIMPLEADMIN_SOURCE: 'community-2' }, { 'sources.simpleadmin.source': 'community-2' }],
    [{ SIMPLEADMIN_TIMEZONE: 'Europe/Warsaw' }, { 'sources.simpleadmin.timezone': 'Europe/Warsaw' }],
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
    [{ SOURCEBANS_URL: 'mysql://a:secret@db/b' }, { 'sources.sourcebans.url': 'mysql://a:secret@db/b' }],
    [{ SOURCEBANS_SOURCE: 'old-bans' }, { 'sources.sourcebans.source': 'old-bans' }],
    [{ SOURCEBANS_PREFIX: 'web_' }, { 'sources.sourcebans.prefix': 'web_' }],
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
    [{ IKS_URL: 'mariadb://reader@db/iks' }, { 'sources.iks.url': 'mariadb://reader@db/iks' }],
    [{ IKS_SOURCE: 'iks-2' }, { 'sources.iks.source': 'iks-2' }],
    [{ IKS_INTERVAL_SECONDS: '86400' }, { 'sources.iks.intervalSeconds': 86_400 }],
    [{ VIPCORE_URL: 'mysql://reader@db/vip' }, { 'vipcore.url': 'mysql://reader@db/vip' }],
    [
      { VIPCORE_FLAGS: 'is_serviceplus=PREMIUM' },
      { 'vipcore.flags': [{ flag: 'is_serviceplus', permissions: ['PREMIUM'] }] },
    ],
    [{ SESSION_SECRET: 'x'.repeat(32) }, { sessionSecret: 'x'.repeat(32) }],
    [{ ROLES: 'api, poller' }, { roles: ['api', 'poller'] }],
    [{ DRAIN_SECONDS: '10' }, { drainSeconds: 10 }],
    [{ LOG_LEVEL: 'debug' }, { logLevel: 'debug' }],
  ];

  for (const [settings, changes] of rows) {
    test(`${Object.keys(settings).join(', ')} sets only ${Object.keys(changes).join(', ')}`, () => {
      const expected = structuredClone(parseConfig({}));
      for (const [path, value] of Object.entries(changes)) {
        const names = path.split('.');
        const part = names.slice(0, -1).reduce((whole, name) => Reflect.get(whole, name), expected);
        Reflect.set(part, names.at(-1) ?? '', value);
      }
      expect(parseConfig(settings)).toEqual(expected);
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
