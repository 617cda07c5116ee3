/** The tables of IKS Admin 3; the first releases had no `ban_type`, no `unban_reason`, and misspelled `unbanned_by`. */
export function iksSchema(release: 'first' | 'present'): string {
  const unbannedBy = release === 'first' ? 'ubanned_by' : 'unbanned_by';
  const common = `ip varchar(32), name varchar(128), duration int not null, reason varchar(128) not null,
    server_id int default null, admin_id int not null, ${unbannedBy} int default null,
    ${release === 'first' ? '' : 'unban_reason varchar(128) default null,'}
    created_at int not null, end_at int not null, updated_at int not null, deleted_at int default null`;
  return `
    create table iks_servers (id int not null unique, ip varchar(32) not null, name varchar(255) not null, rcon varchar(128));
    create table iks_admins (id int not null auto_increment primary key, steam_id varchar(17) not null, name varchar(64) not null);
    insert into iks_admins (steam_id, name) values ('CONSOLE', 'CONSOLE'), ('76561198900000002', 'Basia');
    create table iks_bans (id int not null auto_increment primary key, steam_id bigint,
      ${release === 'first' ? '' : 'ban_type tinyint not null default 0,'} ${common});
    create table iks_comms (id int not null auto_increment primary key, steam_id bigint not null, mute_type int not null, ${common});
    create table iks_admins_warns (id int not null auto_increment primary key, admin_id int not null, reason varchar(255));
    insert into iks_admins_warns (admin_id, reason) values (2, 'of an admin: never read')`;
}
