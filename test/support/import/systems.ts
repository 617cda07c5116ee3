import type { ImportSummary } from '../../../src/import/import-report.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import type { SourceOptions } from '../../../src/import/source-system.ts';
import { importIks, importSimpleAdmin, importSourcebans } from './importers.ts';
import { simpleAdminSqliteSchema } from './simple-admin-schema.ts';

export const PLAYER = '76561198000000001';
export type Admin = { id: number; name: string; steamId: string };
export const BASIA: Admin = { id: 3, name: 'Basia', steamId: '76561197960265738' };
/** In Unix seconds, the time of the importers' clock. */
export const NOW = Date.parse('2026-11-21T12:00:00Z') / 1000;

/** A penalty of {@link PLAYER} by the console, a minute old and permanent; times in Unix seconds. */
export type Penalty = {
  id: number;
  player?: string;
  playerName?: string;
  admin?: Admin;
  reason?: string;
  created?: number;
  ends?: number;
  serverId?: string | number | null;
};
type Lift = { by: Admin; at: number; reason: string };
type Kind = 'ban' | 'mute';
type Value = string | number | null;
/** A row of a source, by its columns. */
export type SourceRow = Record<string, Value>;

/** A system with its tables in SQLite, as statements that write the same penalties into each. */
export type TestSystem = {
  run: (deps: ImportDeps, options: SourceOptions) => Promise<ImportSummary>;
  schema: string;
  tables: Record<Kind | 'admins', string>;
  addAdmin: (admin: Admin) => string;
  addServer: (server: { id: number; address: string }) => string;
  /** @param columns replace and add columns, as the system calls them. */
  add: (kind: Kind, penalty: Penalty, columns?: SourceRow) => string;
  lift: (kind: Kind, id: number, lift: Lift) => string;
};

const literal = (value: Value) =>
  typeof value === 'string' ? `'${value.replaceAll("'", "''")}'` : String(value);

/** Statements that insert rows. */
export const insertInto = (table: string, ...rows: SourceRow[]): string =>
  rows
    .map((row) => [Object.keys(row).join(', '), Object.values(row).map(literal).join(', ')])
    .map(([columns, values]) => `insert into ${table} (${columns}) values (${values});`)
    .join('\n');

const wallClock = (seconds: number) => new Date(seconds * 1000).toISOString().slice(0, 19).replace('T', ' ');

/** What all systems call alike, and the length in seconds. */
const complete = ({
  player = PLAYER,
  playerName = '',
  reason = '',
  created = NOW - 60,
  ends,
  serverId,
}: Penalty) => {
  const length = ends === undefined ? 0 : ends - created;
  return { player, playerName, reason, created, length, ends, serverId: serverId ?? null };
};

const SB_TABLE = `(bid integer primary key, authid text, name text, created integer, length integer, ends integer,
  type integer, reason text, aid integer, sid, RemoveType text, RemovedBy integer, RemovedOn integer, ureason text);`;
const sbTables = { ban: 'sb_bans', mute: 'sb_comms', admins: 'sb_admins' };

const IKS_TABLE = `(id integer primary key, steam_id text, name text, mute_type integer, duration integer, reason text,
  created_at integer, end_at integer, updated_at integer, server_id, admin_id integer, unbanned_by integer, unban_reason text,
  deleted_at integer);`;
const iksTables = { ban: 'iks_bans', mute: 'iks_comms', admins: 'iks_admins' };
const saTables = { ban: 'sa_bans', mute: 'sa_mutes', admins: 'sa_admins' };

export const SYSTEMS = {
  'SourceBans++': {
    run: importSourcebans,
    schema: `create table sb_admins (aid integer primary key, user text, authid text);
      create table sb_servers (sid integer, ip text, port integer);
      create table sb_bans ${SB_TABLE} create table sb_comms ${SB_TABLE}`,
    tables: sbTables,
    addAdmin: ({ id, name, steamId }) => insertInto('sb_admins', { aid: id, user: name, authid: steamId }),
    addServer: ({ id, address }) => {
      const [ip = '', port = ''] = address.split(':');
      return insertInto('sb_servers', { sid: id, ip, port });
    },
    add: (kind, penalty, columns = {}) => {
      const { player, playerName, reason, created, length, ends, serverId } = complete(penalty);
      return insertInto(sbTables[kind], {
        bid: penalty.id,
        authid: player,
        name: playerName,
        type: kind === 'ban' ? 0 : 1,
        reason,
        created,
        length,
        ends: ends ?? created,
        aid: penalty.admin?.id ?? 0,
        sid: serverId,
        ...columns,
      });
    },
    lift: (kind, id, { by, at, reason }) =>
      `update ${sbTables[kind]} set RemoveType = 'U', RemovedBy = ${by.id}, RemovedOn = ${at}, ureason = '${reason}'
       where bid = ${id};`,
  },
  'IKS Admin': {
    run: importIks,
    schema: `create table iks_admins (id integer primary key, name text, steam_id text);
      create table iks_servers (id integer, ip text, name text);
      create table iks_bans ${IKS_TABLE} create table iks_comms ${IKS_TABLE}`,
    tables: iksTables,
    addAdmin: ({ id, name, steamId }) => insertInto('iks_admins', { id, name, steam_id: steamId }),
    addServer: ({ id, address }) => insertInto('iks_servers', { id, ip: address, name: 'Mirage' }),
    add: (kind, penalty, columns = {}) => {
      const { player, playerName, reason, created, length, ends, serverId } = complete(penalty);
      return insertInto(iksTables[kind], {
        id: penalty.id,
        steam_id: player,
        name: playerName,
        mute_type: 0,
        reason,
        duration: length,
        created_at: created,
        end_at: ends ?? 0,
        updated_at: created,
        admin_id: penalty.admin?.id ?? null,
        server_id: serverId,
        ...columns,
      });
    },
    lift: (kind, id, { by, at, reason }) =>
      `update ${iksTables[kind]} set unbanned_by = ${by.id}, unban_reason = '${reason}', updated_at = ${at} where id = ${id};`,
  },
  'CS2-SimpleAdmin': {
    run: importSimpleAdmin,
    schema: simpleAdminSqliteSchema({ migration: 11 }),
    tables: saTables,
    addAdmin: ({ id, name, steamId }) =>
      insertInto('sa_admins', { id, player_name: name, player_steamid: steamId }),
    addServer: ({ id, address }) => insertInto('sa_servers', { id, hostname: 'Mirage', address }),
    add: (kind, penalty, columns = {}) => {
      const { player, playerName, reason, created, length, ends, serverId } = complete(penalty);
      return insertInto(saTables[kind], {
        id: penalty.id,
        player_steamid: player,
        player_name: playerName,
        reason,
        duration: length / 60,
        created: wallClock(created),
        ends: ends === undefined ? null : wallClock(ends),
        admin_name: penalty.admin?.name ?? 'Console',
        admin_steamid: penalty.admin?.steamId ?? '0',
        server_id: serverId,
        ...(kind === 'mute' && { type: 'MUTE' }),
        ...columns,
      });
    },
    lift: (kind, id, { by, at, reason }) => {
      const lifts = kind === 'ban' ? 'sa_unbans' : 'sa_unmutes';
      const record = { [`${kind}_id`]: id, admin_id: by.id, reason, date: wallClock(at) };
      return `${insertInto(lifts, record)}
        update ${saTables[kind]} set status = 'UN${kind === 'ban' ? 'BANNED' : 'MUTED'}',
          un${kind}_id = (select max(id) from ${lifts}) where id = ${id};`;
    },
  },
} satisfies Record<string, TestSystem>;
