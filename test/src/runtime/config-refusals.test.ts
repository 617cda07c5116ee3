import { describe, expect, test } from 'bun:test';
import { InvalidInput } from '../../../src/domain/errors.ts';
import { parseConfig } from '../../../src/runtime/config.ts';
import { ESCAPES } from '../../../src/runtime/database-address.ts';
import { aSteamId } from '../../support/database/builders.ts';

/** The one line with which startup fails for a bad setting. */
function refusalOf(env: Record<string, string>): string {
  try {
    parseConfig(env);
  } catch (error) {
    if (error instanceof InvalidInput) return error.message;
    throw error;
  }
  throw new Error(`${JSON.stringify(env)} was taken`);
}

describe('a bad value ends with one line that names variable, value and what is allowed:', () => {
  const port = 'a whole number from 0 to 65535';
  const limit = 'a whole number from 1 to 1000000000';
  const webAddress = 'an address that begins with http:// or https://';
  const database = `postgres://user:password@host:port/database; ${ESCAPES}`;
  const networks = 'addresses or networks such as 10.0.0.0/8, 127.0.0.1 or fd00::/8, separated by commas';
  const discordId = 'a Discord id of 1 to 20 digits';
  for (const [name, values, allowed] of [
    ['PORT', ['x', '-1', '65536', '3000.5', '1e3', '0x10', '٣', '3000;'], port],
    ['HEALTH_PORT', ['x', '-1', '65536'], port],
    [
      'PUBLIC_URL',
      [
        'play.example.org',
        'ftp://x',
        'http//x',
        '/',
        'https://x/path',
        'https://x/?',
        'https://x?a=b',
        'https://x#top',
        'https://a b',
        'https://x:99999',
      ],
      'an address such as https://play.example.org, without user, path, query or fragment',
    ],
    ['DATABASE_URL', ['mysql://x', 'db.example', 'postgres:/'.slice(0, 8)], database],
    ['SITE_NAME', ['★ ★', 'x'.repeat(65), 'a\u0000b'], '1 to 64 characters with a letter or digit'],
    ['SITE_LOGO_URL', ['logo.png', 'ftp://x/logo.png'], webAddress],
    ['SITE_ACCENT', ['red', '#fff', '#12345g', '#123456;}'], 'a colour such as #f7b23b'],
    ['DISCORD_INVITE_URL', ['discord.gg/abc', 'javascript:alert(1)'], 'an address that begins with https://'],
    ['DISCORD_GUILD_ID', ['x', '1'.repeat(21), '-1'], discordId],
    ['DISCORD_CLIENT_ID', ['x'], discordId],
    ['DISCORD_API_URL', ['discord.com'], webAddress],
    [
      'DISCORD_ROLE_FLAGS',
      ['11', 'has_svip=x', 'has_svip=11,boosts', 'is_owner=11', 'has_svip=0', 'has_svip=11;has_svip=12'],
      'a mapping such as has_svip=ROLE_ID,boost;is_serviceplus=ROLE_ID, of the flags is_admin, is_moderator, has_svip, is_serviceplus',
    ],
    [
      'DISCORD_GIVE_ROLES',
      ['linked', 'linked=boost', 'muted=11', 'linked=11;linked=12', 'linked=11,'],
      'a mapping such as linked=ROLE_ID;has_svip=ROLE_ID, of linked, is_banned, is_owner, is_admin, is_moderator, has_svip, is_serviceplus',
    ],
    ['DISCORD_PRESENCE', ['off', '2'], 'one of 0, 1'],
    ['DISCORD_LOCALE', ['de', 'pl-PL', 'PL'], 'one of en, pl'],
    ['TIME_ZONE', ['Mars/Base', '+01:00', 'Warsaw'], 'a time zone such as UTC or Europe/Warsaw'],
    ['STEAM_OPENID_URL', ['steam'], webAddress],
    ['STEAM_API_URL', ['steam'], webAddress],
    ['OWNER_STEAMIDS', ['1', '0', 'BOT'], 'SteamIDs separated by commas'],
    [
      'SOURCEBANS_FLAGS',
      [
        ';',
        'is_admin',
        'is_admin=',
        'is_admin=a,,b',
        'is_admin=a=b',
        'is_owner=z',
        'x=z',
        'is_admin=a;is_admin=b',
      ],
      'a mapping such as is_admin=NAME,NAME;has_svip=NAME, of the flags is_admin, is_moderator, has_svip, is_serviceplus',
    ],
    [
      'SOURCEBANS_PANEL_URL',
      [
        'panel.example.org',
        'ftp://panel.example.org/{id}',
        'https://panel.example.org/{ID}',
        'https://panel.example.org/{id',
        'https://panel.example.org/{steamid}',
        'https:// example.org',
        `https://x/${'y'.repeat(247)}`,
        'bans=',
        'bans=panel',
        'mutes=https://panel.example.org/{id}',
        'constructor=https://panel.example.org/{id}',
        'bans=https://a.example;bans=https://b.example',
        'bans=https://a.example;comms',
        ';',
      ],
      'an http or https address of at most 256 characters, in which {id} and {steamid64} may stand, or bans=ADDRESS;comms=ADDRESS',
    ],
    ['APPEAL_URL', ['forum', 'discord://x'], webAddress],
    ['APPEALS', ['2', 'yes'], 'one of 0, 1'],
    ['APPEAL_AGAIN_DAYS', ['-1', '3651', 'never'], 'a whole number from 0 to 3650'],
    ['APPEAL_URL', [`https://x/${'y'.repeat(503)}`], 'an address of at most 512 characters'],
    ['REDIS_URL', ['http://x'], 'an address that begins with redis:// or rediss:// or valkey://'],
    [
      'TRUSTED_PROXIES',
      [
        'x',
        '10.0.0.0/33',
        '10.0.0',
        '::1/129',
        '10.0.0.0/8/8',
        '10.0.0.0/',
        '1.2.3.256',
        '010.0.0.1/8',
        '10.0.0.01',
        '0x0a.0.0.1',
        '::ffff:010.0.0.0/104',
        '[::1]',
        'fe80::1%eth0',
      ],
      networks,
    ],
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
    ['ROLES', ['web', 'API'], 'any of api, bot, poller, media, sync, separated by commas'],
    ['TOKENS_FOR', ['owners', 'Everyone', 'everyone,admins'], 'one of everyone, admins'],
    ['LOG_LEVEL', ['verbose', 'INFO'], 'one of trace, debug, info, warn, error, fatal, silent'],
  ] as const) {
    test(name, () => {
      for (const value of values) {
        expect(refusalOf({ [name]: value })).toBe(
          `${name}=${JSON.stringify(value)} isn't valid: use ${allowed}`,
        );
      }
    });
  }

  test('roles on Discord that give a flag and are given, and roles of no guild', () => {
    const DISCORD_GUILD_ID = '1';
    const flags = { DISCORD_ROLE_FLAGS: 'has_svip=11,boost;is_admin=12' };
    const gives = { DISCORD_GIVE_ROLES: 'linked=13;is_banned=12' };
    expect(refusalOf({ ...flags, ...gives, DISCORD_GUILD_ID })).toBe(
      'DISCORD_ROLE_FLAGS and DISCORD_GIVE_ROLES both name the role 12: a role either gives flags or is given',
    );
    expect(refusalOf(flags)).toBe('DISCORD_ROLE_FLAGS needs DISCORD_GUILD_ID, the guild of the roles');
    expect(refusalOf(gives)).toBe('DISCORD_GIVE_ROLES needs DISCORD_GUILD_ID, the guild of the roles');
  });

  test('appeals in two places', () => {
    expect(refusalOf({ APPEALS: '1', APPEAL_URL: 'https://forum.example.org' })).toBe(
      'APPEALS=1 and APPEAL_URL are both set: players appeal in one place',
    );
  });

  test('DATABASE_REPLICA_URLS, whichever of them it is', () => {
    expect(refusalOf({ DATABASE_REPLICA_URLS: 'postgres://a/x, nonsense' })).toBe(
      `DATABASE_REPLICA_URLS="nonsense" isn't valid: use ${database}`,
    );
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

  test('names the bad value in a list', () => {
    expect(refusalOf({ TRUSTED_PROXIES: '::1, x' })).toStartWith('TRUSTED_PROXIES="x" isn\'t valid');
    expect(refusalOf({ ROLES: 'api,web' })).toStartWith('ROLES="web" isn\'t valid');
    expect(refusalOf({ OWNER_STEAMIDS: `${aSteamId(1)},BOT` })).toStartWith(
      'OWNER_STEAMIDS="BOT" isn\'t valid',
    );
  });

  test('SESSION_SECRET, which is not shown', () => {
    const line = refusalOf({ SESSION_SECRET: 'hunter2' });
    expect(line).toBe('SESSION_SECRET is too short: use at least 32 characters');
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

  test('a secret that is set twice, or whose file is missing or empty', () => {
    expect(refusalOf({ DISCORD_TOKEN: 'hunter2', DISCORD_TOKEN_FILE: '/run/secrets/token' })).toBe(
      'DISCORD_TOKEN and DISCORD_TOKEN_FILE are both set: use one of them',
    );
    expect(refusalOf({ DATABASE_URL_FILE: '/run/absent' })).toBe(
      'DATABASE_URL_FILE="/run/absent" isn\'t valid: use a file that this process may read',
    );
    expect(refusalOf({ REDIS_URL_FILE: '/dev/null' })).toBe(
      'REDIS_URL_FILE="/dev/null" isn\'t valid: use a file that is not empty',
    );
  });

  test('a refused setting takes exactly one line', () => {
    expect(refusalOf({ HOST: 'x', PORT: '1\n2' })).not.toContain('\n');
    expect(refusalOf({ LOG_LEVEL: 'a\r\nb' })).toBe(
      'LOG_LEVEL="a\\r\\nb" isn\'t valid: use one of trace, debug, info, warn, error, fatal, silent',
    );
  });
});
