import { tryParseFlagMapping } from '../../../src/domain/rights/user-flags.ts';
import type { AdminRights } from '../../../src/import/admin-rights.ts';
import { IKS } from '../../../src/import/iks.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import { readSource } from '../../../src/import/source/open-source.ts';
import type { SourceDatabase } from '../../../src/import/source/tables.ts';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';
import { readVips } from '../../../src/import/vipcore.ts';
import { aSteamId } from '../database/builders.ts';

type RightsTables = {
  name: string;
  read: (database: SourceDatabase) => Promise<AdminRights[]>;
  /** Statements for MySQL and SQLite, with the systems' own columns and types, and odd rows. */
  statements: string;
  /** Permissions by SteamID, and an end if there is one. */
  expected: Record<string, string>;
};

const id = (number: number) => aSteamId(number);
const END = '2030-01-02 03:04:05';

/** Account ids from 39734273 on, as those of `aSteamId(1)` and the next. */
const account = (number: number) => 39_734_272 + number;

/** The tables of each system that say who has which rights in its games. */
export const RIGHTS_TABLES = [
  {
    name: 'CS2-SimpleAdmin',
    read: simpleAdminSystem({ timezone: 'UTC' }).readAdmins,
    statements: `
      create table sa_admins (id int primary key, player_name varchar(128) not null, player_steamid varchar(64),
        flags text null, immunity int not null default 0, group_id int null, ends timestamp null, server_id int null);
      create table sa_admins_flags (id int primary key, admin_id int not null, flag varchar(64) not null);
      create table sa_groups (id int primary key, name varchar(255) not null, immunity int not null default 0);
      create table sa_groups_flags (id int primary key, group_id int not null, flag varchar(64) not null);
      create table sa_groups_servers (id int primary key, group_id int not null, server_id int null);
      insert into sa_admins (id, player_name, player_steamid, group_id, ends, server_id) values
        (1, 'for ever, on one server', '${id(1)}', null, null, 3), (2, 'until then', 'STEAM_0:0:19867137', null, '${END}', null),
        (3, 'long past', '${id(3)}', null, '2020-01-02 03:04:05', null), (4, 'nobody', '0', null, null, null),
        (5, 'empty', '', null, null, null), (6, 'null', null, null, null, null), (7, 'by group', '${id(7)}', 1, null, null),
        (8, 'group of no server', '${id(8)}', 2, null, null), (9, 'group by flag', '${id(9)}', null, null, null),
        (10, 'twice', '${id(1)}', null, '${END}', 4), (11, 'group without flags', '${id(11)}', 3, null, null);
      insert into sa_admins (id, player_name, player_steamid, flags) values (12, 'old text', '${id(12)}', '@css/kick, @css/ban');
      insert into sa_admins_flags values (1, 1, ' @css/ban '), (2, 1, '@css/kick'), (3, 2, '@css/vip'), (4, 3, '@css/root'),
        (5, 4, '@css/root'), (6, 5, '@css/root'), (7, 6, '@css/root'), (8, 9, '#css/admin'), (9, 10, '@css/root'), (10, 77, '@css/root');
      insert into sa_groups values (1, 'Staff', 0), (2, 'Nowhere', 0), (3, 'Empty', 0), (4, '#css/admin', 0);
      insert into sa_groups_flags values (1, 1, '@css/chat'), (2, 2, '@css/root'), (3, 4, '@css/slay');
      insert into sa_groups_servers values (1, 1, 5), (2, 3, null), (3, 4, null)`,
    expected: {
      [id(1)]: '@css/ban @css/kick | @css/root until 2030-01-02T03:04:05.000Z',
      [id(2)]: '@css/vip until 2030-01-02T03:04:05.000Z',
      [id(3)]: '@css/root until 2020-01-02T03:04:05.000Z',
      [id(7)]: '#Staff @css/chat',
      [id(8)]: '',
      [id(9)]: '#css/admin @css/slay',
      [id(11)]: '#Empty',
      [id(12)]: '@css/kick @css/ban',
    },
  },
  {
    name: 'SourceBans++',
    read: sourcebansSystem({ prefix: 'sb' }).readAdmins,
    statements: `
      create table sb_admins (aid int primary key, \`user\` varchar(64) not null, authid varchar(64) not null default '',
        gid int not null, extraflags int not null, srv_group varchar(128) null, srv_flags varchar(64) null);
      create table sb_srvgroups (id int primary key, flags varchar(30) not null, immunity int not null, name varchar(120) not null);
      insert into sb_admins values (0, 'CONSOLE', 'STEAM_ID_SERVER', 0, 0, null, 'z'), (1, 'letters', 'STEAM_0:1:19867136', -1, 0, '', 'c d,z'),
        (2, 'group', '${id(2)}', -1, 0, 'head admins', null), (3, 'panel only', '${id(3)}', 1, 16777216, null, ''),
        (4, 'no such group', '${id(4)}', -1, 0, 'Gone', 'b'), (5, 'nobody', '', -1, 0, null, 'z');
      insert into sb_srvgroups values (1, 'abz', 100, 'Head Admins'), (2, 'z', 0, 'Unused')`,
    expected: {
      [id(1)]: 'c d z',
      [id(2)]: '#Head Admins a b z',
      [id(3)]: '',
      [id(4)]: 'b',
    },
  },
  {
    name: 'IKS Admin 3',
    read: IKS.readAdmins,
    statements: `
      create table iks_admins (id int primary key, steam_id varchar(17) not null, name varchar(64) not null, flags varchar(32) null,
        immunity int null, group_id int null, is_disabled int not null default 0, end_at int null, deleted_at int null);
      create table iks_groups (id int primary key, name varchar(64) not null, flags varchar(32) not null);
      create table iks_admin_to_server (admin_id int not null, server_id int not null);
      insert into iks_admins values (1, 'CONSOLE', 'CONSOLE', null, null, null, 0, null, null),
        (2, '${id(2)}', 'for ever', 'bz', null, null, 0, 0, null), (3, '${id(3)}', 'group', null, null, 1, 0, null, null),
        (4, '${id(4)}', 'until then', 'g', null, null, 0, 1893553445, null), (5, '${id(5)}', 'deleted', 'z', null, null, 0, null, 1700000000),
        (6, '${id(6)}', 'disabled', 'z', null, null, 1, null, null), (7, '0', 'nobody', 'z', null, null, 0, null, null),
        (8, '${id(8)}', 'no such group', 'k', null, 9, 0, null, null), (9, '${id(9)}', 'negative end', 'z', null, null, 0, -5, null);
      insert into iks_groups values (1, 'Moderator', 'mg')`,
    expected: {
      [id(2)]: 'b z',
      [id(3)]: '#Moderator m g',
      [id(4)]: 'g until 2030-01-02T03:04:05.000Z',
      [id(8)]: 'k',
    },
  },
  {
    name: 'VIPCore',
    read: async (database) => {
      const grants = await readVips(database, tryParseFlagMapping('has_svip=*;is_serviceplus=PREMIUM') ?? []);
      return grants.map(({ flag, ...grant }) => ({ ...grant, permissions: new Set([flag]) }));
    },
    // Two rows for two servers, account ids beyond 2^31, ends past and never.
    statements: `
      create table vip_users (account_id bigint not null, name varchar(64) not null, lastvisit bigint not null, sid bigint not null,
        \`group\` varchar(64) not null, expires bigint not null, primary key (account_id, sid));
      insert into vip_users values (${account(1)}, 'two servers', 0, 0, 'VIP', 1893553445), (${account(1)}, 'two servers', 0, 1, 'PREMIUM', 0),
        (4294967295, 'the last account', 0, 0, ' VIP ', 0), (2147483648, 'beyond 2^31', 0, 0, 'SVIP', 0), (0, 'nobody', 0, 0, 'VIP', 0),
        (4294967296, 'no account', 0, 0, 'VIP', 0), (-5, 'negative', 0, 0, 'VIP', 0), (${account(2)}, 'past', 0, 0, 'VIP', 1577934245),
        (${account(3)}, 'no group', 0, 0, '', 0), (${account(4)}, 'no time', 0, 0, 'VIP', -1)`,
    expected: {
      [id(1)]: 'has_svip until 2030-01-02T03:04:05.000Z | has_svip | is_serviceplus',
      [id(2)]: 'has_svip until 2020-01-02T03:04:05.000Z',
      '76561200107749376': 'has_svip',
      '76561202255233023': 'has_svip',
    },
  },
] as const satisfies RightsTables[];

/** Who has which rights in a database, in the form of the tables above. */
export async function readRights(url: string, read: RightsTables['read']): Promise<Record<string, string>> {
  const rights: Record<string, string> = {};
  for (const { steamId64, permissions, endsAt } of await readSource(url, read)) {
    const description = [...permissions].join(' ') + (endsAt ? ` until ${endsAt.toISOString()}` : '');
    rights[steamId64] = [rights[steamId64], description].filter((text) => text !== undefined).join(' | ');
  }
  return rights;
}
