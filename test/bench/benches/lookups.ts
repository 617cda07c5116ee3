import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { findUser } from '../../../src/queries/users/users.ts';
import { type Bench, compare, median } from '../bench.ts';
import { type OpenDatabase, open } from '../support/database-time.ts';
import { DATASET_END, openDatasets } from '../support/penalty-dataset.ts';

const CALLS = 5000;

const USER_BY_HAND = `
  select users.*, exists (
    select 1 from penalties where player_steamid = users.steamid64
      and type = 'ban' and status = 'ACTIVE' and (ends_at is null or ends_at > $2)
  ) as is_banned
  from users where steamid64 = $1`;

/** The user lookup of the API against the same by hand, and the record that `/ban-check` shows against a round trip. */
export const lookups: Bench = {
  name: 'lookups',
  title: 'a user and whether they are banned; the record of a player',
  run: async (options) => {
    await using datasets = await openDatasets(options);
    await using database = await open(datasets.large);
    const player = await findPlayer(database);
    await saveUser(database.db, player, { actor: 'operator' });
    return await measureLookups(database, player);
  },
};

/** One of those with the most penalties. */
async function findPlayer({ connection }: OpenDatabase): Promise<SteamId64> {
  const [row] = await connection<{ player: SteamId64 }[]>`
    select player_steamid::text as player from penalties
    where player_steamid between 76561197960265729 and 76561197960265829
    group by player_steamid order by count(*) desc limit 1`;
  if (!row) throw new Error('the dataset is empty');
  return row.player;
}

async function measureLookups({ db, connection }: OpenDatabase, player: SteamId64) {
  const now = DATASET_END;
  const user = await timeInTurn(
    () => findUser(db, { steamId64: player }, now),
    () => connection.unsafe(USER_BY_HAND, [player, now.toISOString()], { prepare: true }).values(),
  );
  const record = await timeInTurn(
    () => loadPlayerRecord(db, player, { page: 1, perPage: 10, now }),
    () => connection`select 1`,
  );
  return [
    compare('a user, and whether they are banned', { ...user, name: 'one statement by hand' }, { atMost: 3 }),
    compare('the record that /ban-check shows', { ...record, name: 'select 1' }, { atMost: 6 }),
  ];
}

/** The medians of both, call by call, in milliseconds until the rows have come. */
async function timeInTurn(ours: () => PromiseLike<unknown>, floor: () => PromiseLike<unknown>) {
  const times = { ours: [] as number[], floor: [] as number[] };
  for (let call = 0; call < CALLS; call++) {
    times.ours.push(await timeOf(ours));
    times.floor.push(await timeOf(floor));
  }
  return { ours: median(times.ours), floor: median(times.floor) };
}

async function timeOf(call: () => PromiseLike<unknown>): Promise<number> {
  const startedAt = performance.now();
  await call();
  return performance.now() - startedAt;
}
