import { tryParseFlagMapping } from '../../../src/domain/rights/user-flags.ts';
import { openSourceDatabase } from '../../../src/import/source/open-source.ts';
import { readVips } from '../../../src/import/vipcore.ts';
import { aSteamId } from '../database/builders.ts';

/** Account ids from 39734273 on, as those of `aSteamId(1)` and the next. */
const account = (number: number) => 39_734_272 + number;

/**
 * VIPCore's table, for MySQL and SQLite, with odd rows: two rows for two servers, account ids beyond 2^31, ends past
 * and never.
 */
export const VIP_USERS = `
  create table vip_users (account_id bigint not null, name varchar(64) not null, lastvisit bigint not null, sid bigint not null,
    \`group\` varchar(64) not null, expires bigint not null, primary key (account_id, sid));
  insert into vip_users values (${account(1)}, 'two servers', 0, 0, 'VIP', 1893553445), (${account(1)}, 'two servers', 0, 1, 'PREMIUM', 0),
    (4294967295, 'the last account', 0, 0, ' VIP ', 0), (2147483648, 'beyond 2^31', 0, 0, 'SVIP', 0), (0, 'nobody', 0, 0, 'VIP', 0),
    (4294967296, 'no account', 0, 0, 'VIP', 0), (-5, 'negative', 0, 0, 'VIP', 0), (${account(2)}, 'past', 0, 0, 'VIP', 1577934245),
    (${account(3)}, 'no group', 0, 0, '', 0), (${account(4)}, 'no time', 0, 0, 'VIP', -1)`;

const ENDS = '2030-01-02T03:04:05.000Z';
export const VIP_FLAGS = [
  `has_svip ${aSteamId(1)} ${ENDS}`,
  `has_svip ${aSteamId(1)} null`,
  `has_svip ${aSteamId(2)} 2020-01-02T03:04:05.000Z`,
  'has_svip 76561200107749376 null',
  'has_svip 76561202255233023 null',
  `is_serviceplus ${aSteamId(1)} null`,
];

/** What the table gives, a line each. */
export async function readVipFlags(url: string): Promise<string[]> {
  const database = await openSourceDatabase(url);
  const mapping = tryParseFlagMapping('has_svip=*;is_serviceplus=PREMIUM') ?? [];
  const grants = await readVips(database, mapping);
  await database.close();
  const lines = grants.map(
    ({ flag, steamId64, endsAt }) => `${flag} ${steamId64} ${endsAt?.toISOString() ?? null}`,
  );
  return lines.toSorted();
}
