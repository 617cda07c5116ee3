/** The schema of CS2-SimpleAdmin as its migrations leave it: the columns differ, the importer looks at what is there. */

type Version = {
  /** Number of the last migration applied. */
  migration: 5 | 8 | 10 | 11 | 12 | 15;
};

/** MySQL: `updated_at` since 012, BIGINT SteamIDs since 015, warnings since 010, `passed` since 008. */
export function simpleAdminMysqlSchema({ migration }: Version): string {
  const steamId = migration >= 15 ? 'bigint' : 'varchar(64)';
  const player = (nullable: boolean) =>
    `player_steamid ${steamId} ${nullable || migration >= 15 ? 'null' : 'not null'}`;
  const common = `player_name varchar(128) null, admin_steamid ${steamId} not null, admin_name varchar(128) not null,
    reason varchar(255) not null, duration int not null, created timestamp not null default current_timestamp,
    server_id int null`;
  return `
    create table sa_servers (id int auto_increment primary key, hostname varchar(128) not null,
      address varchar(64) not null unique ${migration >= 11 ? ', rcon_password varchar(128) null' : ''});
    create table sa_admins (id int auto_increment primary key, player_name varchar(128) not null,
      player_steamid ${steamId} null, flags text null, immunity int not null default 0);
    create table sa_unbans (id int auto_increment primary key, ban_id int not null, admin_id int not null default 0,
      reason varchar(255) not null default 'Unknown', date timestamp not null default current_timestamp);
    create table sa_unmutes (id int auto_increment primary key, mute_id int not null, admin_id int not null default 0,
      reason varchar(255) not null default 'Unknown', date timestamp not null default current_timestamp);
    create table sa_bans (id int auto_increment primary key, ${player(true)}, player_ip varchar(128), ${common},
      ends timestamp null, unban_id int null, status enum('ACTIVE','UNBANNED','EXPIRED','') not null default 'ACTIVE'
      ${migration >= 12 ? ', updated_at timestamp not null default current_timestamp on update current_timestamp' : ''}) default charset utf8mb4;
    create table sa_mutes (id int auto_increment primary key, ${player(false)}, ${common},
      ${migration >= 8 ? 'passed int null,' : ''} ends timestamp null, unmute_id int null,
      type enum('GAG','MUTE','SILENCE','') not null default 'GAG',
      status enum('ACTIVE','UNMUTED','EXPIRED','') not null default 'ACTIVE') default charset utf8mb4;
    ${
      migration >= 10
        ? `create table sa_warns (id int auto_increment primary key, ${player(false)}, ${common}, ends timestamp null,
            status enum('ACTIVE','EXPIRED','') not null default 'ACTIVE') default charset utf8mb4;`
        : ''
    }`;
}

/** SQLite: types are affinities, times are text in UTC. */
export function simpleAdminSqliteSchema({ migration }: Version): string {
  const steamId = migration >= 15 ? 'integer' : 'varchar(64)';
  const common = `player_name varchar(128), player_steamid ${steamId}, admin_steamid ${steamId} not null,
    admin_name varchar(128) not null, reason varchar(255) not null, duration integer not null, ends timestamp null,
    created timestamp not null default current_timestamp, server_id integer null, status text not null default 'ACTIVE'`;
  return `
    create table sa_servers (id integer primary key autoincrement, hostname varchar(128) not null,
      address varchar(64) not null unique);
    create table sa_admins (id integer primary key autoincrement, player_name varchar(128) not null,
      player_steamid ${steamId}, flags text null);
    create table sa_unbans (id integer primary key autoincrement, ban_id integer not null,
      admin_id integer not null default 0, reason varchar(255) not null default 'Unknown',
      date timestamp default current_timestamp);
    create table sa_unmutes (id integer primary key autoincrement, mute_id integer not null,
      admin_id integer not null default 0, reason varchar(255) not null default 'Unknown',
      date timestamp default current_timestamp);
    create table sa_bans (id integer primary key autoincrement, player_ip varchar(128), unban_id integer null, ${common}
      ${migration >= 12 ? ', updated_at timestamp' : ''});
    create table sa_mutes (id integer primary key autoincrement, unmute_id integer null, type text not null default 'GAG',
      ${migration >= 8 ? 'passed integer null,' : ''} ${common});
    ${migration >= 10 ? `create table sa_warns (id integer primary key autoincrement, ${common});` : ''}`;
}

export const ADMIN = '76561198900000001';

/** A penalty of the plugin's tables; `values` replace and add columns. */
export const aRow = (values: Record<string, string | number | null> = {}) => ({
  player_name: 'Rzeźnik',
  player_steamid: '76561198000000001',
  admin_steamid: ADMIN,
  admin_name: 'Ala',
  reason: 'Wallhack',
  duration: 60,
  created: '2026-11-21 11:30:00',
  ends: '2026-11-21 12:30:00',
  server_id: null,
  status: 'ACTIVE',
  ...values,
});
