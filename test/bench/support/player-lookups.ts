import { type Database, openDatabase } from '../../../src/db/database.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { findUser } from '../../../src/queries/users/users.ts';
import { formatMs, formatRatio, median, type Row } from '../bench.ts';

const LOOKUPS = 5000;

/** The player whose list is measured, and the moment it is of. */
type Listed = { player: SteamId64; now: Date };

const USER_BY_HAND = `
  select users.*, exists (
    select 1 from penalties where player_steamid = users.steamid64
      and type = 'ban' and status = 'ACTIVE' and (ends_at is null or ends_at > $2)
  ) as is_banned
  from users where steamid64 = $1`;

/** The list of one player, compared with a round trip to the database; the user lookup, with the same SQL by hand. */
export async function measurePlayerLookups(
  { db, connection, url }: Database,
  listed: Listed,
): Promise<Row[]> {
  await saveUser(db, listed.player, { actor: 'operator' });
  const list = () =>
    listPenalties(db, { playerSteamId: listed.player }, { page: 1, perPage: 10, now: listed.now });
  const statement = await readPlayerStatement(url, listed);
  const parameters = [listed.player, listed.player, '10'];
  const select1 = { name: 'select 1', call: () => connection`select 1` };
  const byHand = {
    name: 'one statement by hand',
    call: () =>
      connection.unsafe(USER_BY_HAND, [listed.player, listed.now.toISOString()], { prepare: true }).values(),
  };
  const lookups: Lookup[] = [
    {
      what: 'a user, and whether they are banned',
      atMost: 1 / 0.7,
      call: () => findUser(db, { steamId64: listed.player }, listed.now),
      floor: byHand,
    },
    { what: 'ten penalties of one player, and the counts of all', atMost: 2, call: list, floor: select1 },
    {
      what: '… the same SQL by the driver alone',
      call: () => connection.unsafe(statement, parameters, { prepare: true }).values(),
      floor: select1,
    },
  ];
  const rows: Row[] = [];
  for (const { what, atMost, call, floor } of lookups) {
    const calls = { ours: [] as number[], floor: [] as number[] };
    for (let number = 0; number < LOOKUPS; number++) {
      calls.ours.push(await timeOf(call));
      calls.floor.push(await timeOf(floor.call));
    }
    const times = { ours: median(calls.ours), floor: median(calls.floor) };
    rows.push({
      what,
      ours: formatMs(times.ours),
      floor: `${floor.name}: ${formatMs(times.floor)}`,
      ratio: formatRatio(times.ours / times.floor),
      target: atMost === undefined ? 'for information' : `≤ ${atMost.toFixed(1)}×`,
      isReached: atMost === undefined || times.ours / times.floor <= atMost,
    });
  }
  return rows;
}

type Lookup = {
  what: string;
  /** The highest ratio to the floor; absent: for information. */
  atMost?: number;
  call: () => PromiseLike<unknown>;
  floor: { name: string; call: () => PromiseLike<unknown> };
};

/** The SQL of a player's list, from a connection on which nothing else was asked. */
async function readPlayerStatement(url: string, { player, now }: Listed): Promise<string> {
  const { db, connection, close } = openDatabase(url, { max: 1 });
  try {
    await listPenalties(db, { playerSteamId: player }, { page: 1, perPage: 10, now });
    const [prepared] = await connection<{ statement: string }[]>`
      select statement from pg_prepared_statements
      where statement like '%counted.counts%' and statement not like '%pg_prepared_statements%'`;
    if (!prepared) throw new Error('the list of a player is not prepared');
    return prepared.statement;
  } finally {
    await close();
  }
}

/** Milliseconds from asking to the answer in hand: the database's time and the driver's. */
async function timeOf(call: () => PromiseLike<unknown>): Promise<number> {
  const startedAt = performance.now();
  await call();
  return performance.now() - startedAt;
}
