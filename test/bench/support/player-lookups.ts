import { type Database, openDatabase } from '../../../src/db/database.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isBanned } from '../../../src/queries/penalties/is-banned.ts';
import { listPenalties } from '../../../src/queries/penalties/list.ts';
import { formatMs, formatRatio, median, type Row } from '../bench.ts';

const LOOKUPS = 5000;

/** The player whose list is measured, and the moment it is of. */
type Listed = { player: SteamId64; now: Date };

/** The ban lookup and the list of one player, compared with a round trip to the database. */
export async function measurePlayerLookups(
  { db, connection, url }: Database,
  listed: Listed,
): Promise<Row[]> {
  const player = () =>
    String(76561197960265729n + BigInt(Math.floor(Math.random() * 1_000_000))) as SteamId64;
  const list = () =>
    listPenalties(db, { playerSteamId: listed.player }, { page: 1, perPage: 10, now: listed.now });
  const statement = await readPlayerStatement(url, listed);
  const parameters = [listed.player, listed.player, '10'];
  const lookups: [what: string, most: number | undefined, lookup: () => PromiseLike<unknown>][] = [
    ['ban lookup of one player', 2, () => isBanned(db, player(), listed.now)],
    ['ten penalties of one player, and the counts of all', 2, list],
    [
      '… the same SQL by the driver alone',
      undefined,
      () => connection.unsafe(statement, parameters, { prepare: true }).values(),
    ],
  ];
  const rows: Row[] = [];
  for (const [what, most, lookup] of lookups) {
    const calls = { ours: [] as number[], floor: [] as number[] };
    for (let call = 0; call < LOOKUPS; call++) {
      calls.ours.push(await timeOf(lookup));
      calls.floor.push(await timeOf(() => connection`select 1`));
    }
    const [ours, floor] = [median(calls.ours), median(calls.floor)];
    const isReached = most === undefined || ours / floor <= most;
    rows.push({
      what,
      ours: formatMs(ours),
      floor: `select 1: ${formatMs(floor)}`,
      ratio: formatRatio(ours / floor),
      target: most === undefined ? 'for information' : `≤ ${most}×`,
      isReached,
      ...(!isReached && {
        note: 'it searches indexes and reads rows, whereas `select 1` is only a round trip',
      }),
    });
  }
  return rows;
}

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
