/**
 * The tables of SourceBans++ that matter, under any prefix: `1.5` knows no reason of lifting for bans and keeps MyISAM
 * and three-byte utf8, `1.8` is the present one. Version 1.4 had no communication bans.
 */
export function sourcebansSchema(prefix: string, version: '1.4' | '1.5' | '1.8'): string {
  const engine =
    version === '1.8' ? 'engine=InnoDB default charset=utf8mb4' : 'engine=MyISAM default charset=utf8';
  const lifted = 'RemovedBy int(8) null, RemoveType varchar(3) null, RemovedOn int(10) null';
  const common = `authid varchar(64) not null default '', name varchar(128) not null default 'unnamed',
    created int(11) not null default 0, ends int(11) not null default 0, length int(10) not null default 0,
    reason text not null, aid int(6) not null default 0, adminIp varchar(128) not null default '', sid int(6) not null default 0`;
  return `
    set session sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
    create table ${prefix}admins (aid int(6) not null auto_increment primary key, user varchar(64) not null unique,
      authid varchar(64) not null default '', password varchar(128) not null default '') ${engine};
    insert into ${prefix}admins (aid, user, authid) values (0, 'CONSOLE', 'STEAM_ID_SERVER');
    create table ${prefix}servers (sid int(6) not null auto_increment primary key, ip varchar(64) not null,
      port int(5) not null, rcon varchar(64) not null default '') ${engine};
    create table ${prefix}bans (bid int(6) not null auto_increment primary key, ip varchar(32) null, ${common},
      country varchar(4) null, ${lifted}, type tinyint not null default 0
      ${version === '1.4' ? '' : ', ureason text'}) ${engine};
    ${
      version === '1.4'
        ? ''
        : `create table ${prefix}comms (bid int(6) not null auto_increment primary key, ${common}, ${lifted},
            type tinyint(4) not null default 0, ureason text, key authid (authid), key created (created)) ${engine};`
    }`;
}
