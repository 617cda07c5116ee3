import { describe, expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { type Config, parseConfig } from '../../../src/runtime/config.ts';

function findMisspelled(variables: Record<string, string>): Config['misspelled'] {
  return parseConfig(variables).misspelled;
}

const SETTINGS = [...readFileSync('.env.example', 'utf8').matchAll(/^#? ?([A-Z_]+)=/gm)].map(
  ([, name = '']) => name,
);

describe('a variable that resembles a setting', () => {
  test.each([
    ['OWNER_STEAMID', 'OWNER_STEAMIDS'],
    ['POL_INTERVAL_SECONDS', 'POLL_INTERVAL_SECONDS'],
    ['DATABASE_URI', 'DATABASE_URL'],
    ['REDIS_URI', 'REDIS_URL'],
    ['REIDS_URL', 'REDIS_URL'],
    ['LOGLEVEL', 'LOG_LEVEL'],
    ['log_level', 'LOG_LEVEL'],
    ['STROAGE_DIR', 'STORAGE_DIR'],
    ['DATADIR', 'DATA_DIR'],
    ['PUBLIC_URI', 'PUBLIC_URL'],
    ['DISCORD_GUILDID', 'DISCORD_GUILD_ID'],
    ['DISCORD_TOKENS', 'DISCORD_TOKEN'],
    ['STEAM_APIKEY', 'STEAM_API_KEY'],
    ['WEBHOOK_ALLOWED', 'WEBHOOK_ALLOW'],
    ['RATE_LIMIT_PROTECTD', 'RATE_LIMIT_PROTECTED'],
  ])('%s is found to mean %s', (variable, meant) => {
    expect(findMisspelled({ [variable]: 'x' })).toEqual([{ variable, meant }]);
  });

  test('reports no misspelled variable that is empty or whose setting is set', () => {
    expect(findMisspelled({ LOGLEVEL: '', OWNER_STEAMID: ' ' })).toEqual([]);
    expect(findMisspelled({ LOGLEVEL: 'x', LOG_LEVEL: 'info' })).toEqual([]);
  });
});

test('every setting is found by a name with a letter too many, but for the short ones', () => {
  expect(SETTINGS.length).toBeGreaterThan(40);
  for (const meant of SETTINGS) {
    const variable = `${meant}X`;
    const isShort = ['HOST', 'PORT', 'ROLES'].includes(meant);
    expect(findMisspelled({ [variable]: 'x' })).toEqual(isShort ? [] : [{ variable, meant }]);
  }
});

/** Of shells, desktops, CI, containers, Kubernetes, proxies, Node and Bun, databases and their images, and other bots. */
const OF_OTHERS = `
  _ SHLVL SHELL PATH PWD OLDPWD HOME HOSTNAME HOSTTYPE HOST_IP HOST_UID USER USERNAME LOGNAME UID EDITOR VISUAL PAGER LESS
  LANG LANGUAGE LC_ALL LC_CTYPE LC_TIME TERM TERMINFO TERM_PROGRAM COLORTERM COLUMNS LINES DISPLAY TZ TZDIR TMP TMPDIR TEMP
  MAIL MANPATH INFOPATH LS_COLORS LESSOPEN XDG_DATA_DIRS XDG_DATA_HOME XDG_CONFIG_HOME XDG_RUNTIME_DIR XDG_SESSION_ID
  XDG_CACHE_HOME SSH_CLIENT SSH_CONNECTION SSH_TTY SSH_AUTH_SOCK GPG_TTY SUDO_USER SUDO_UID SUDO_COMMAND DBUS_SESSION_BUS_ADDRESS
  INVOCATION_ID JOURNAL_STREAM SYSTEMD_EXEC_PID LISTEN_FDS LISTEN_PID NOTIFY_SOCKET STATE_DIRECTORY LOGS_DIRECTORY MEMORY_PRESSURE_WATCH
  CACHE_DIRECTORY RUNTIME_DIRECTORY CONFIGURATION_DIRECTORY CREDENTIALS_DIRECTORY MAINPID
  CI GITHUB_TOKEN GITHUB_REPOSITORY GITLAB_CI RUNNER_OS BUILD_ID
  DOCKER_HOST COMPOSE_PROJECT_NAME COMPOSE_FILE KUBERNETES_PORT KUBERNETES_SERVICE_HOST KUBERNETES_SERVICE_PORT POD_NAME POD_IP NODE_NAME
  APP_PORT APP_HOST APP_URL APP_ENV APP_NAME WEB_PORT HTTP_PORT HTTPS_PORT SERVER_PORT POSTGRES_PORT REDIS_PORT REDIS_HOST
  REDIS_PASSWORD REDIS_PORT_6379_TCP REDIS_SERVICE_PORT DATABASE_HOST DATABASE_NAME DATABASE_PORT DATABASE_USER DB_URL DB_HOST
  HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy FTP_PROXY
  NODE_ENV NODE_PATH NODE_OPTIONS NODE_VERSION BUN_INSTALL BUN_RUNTIME_TRANSPILER_CACHE_PATH BUN_INSTALL_BIN BUN_ENV NO_COLOR FORCE_COLOR
  DEBUG VERBOSE npm_config_cache npm_package_name npm_lifecycle_event npm_execpath npm_config_user_agent INIT_CWD
  PGDATA PGHOST PGPORT PGUSER PGPASSWORD PGDATABASE PGSSLMODE POSTGRES_PASSWORD POSTGRES_USER POSTGRES_DB MYSQL_URL MYSQL_HOST
  MYSQL_DATABASE MARIADB_ROOT_PASSWORD VALKEY_URL MONGO_URL AMQP_URL SITE_URL BASE_URL API_URL PUBLIC_KEY SECRET_KEY SESSION_ID
  SESSION_MANAGER LOG_FILE LOG_DIR LOG_FORMAT JAVA_HOME JAVA_DIR GOPATH PYTHONPATH LD_LIBRARY_PATH LD_PRELOAD MALLOC_ARENA_MAX
  DATADOG_URL STEAM_HOME STEAM_RUNTIME STEAM_COMPAT_DATA_PATH STEAMAPPID SRCDS_TOKEN DISCORD_WEBHOOK_URL DISCORD_BOT_TOKEN
  ROLE PROT POST HOSTS PORTS TOKEN WSLENV WT_SESSION NAME`
  .trim()
  .split(/\s+/);

test.each(OF_OTHERS)('%s belongs to another program', (variable) => {
  expect(findMisspelled({ [variable]: 'x' })).toEqual([]);
});
