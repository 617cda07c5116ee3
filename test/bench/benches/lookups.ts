import { loadPlayerRecord } from '../../../src/queries/penalties/player-record.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { findUser } from '../../../src/queries/users/users.ts';
import { alternate, type Bench, compare, medians, timeOf } from '../bench.ts';
import { open } from '../support/database-time.ts';
import { DATASET_END, findSubjects, openDatasets } from '../support/penalty-dataset.ts';

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
    const { db, connection } = database;
    const { player } = await findSubjects(database);
    await saveUser(db, player, { actor: 'operator' });
    const now = DATASET_END;
    const parameters = [player, now.toISOString()];
    const user = await timeInTurn(
      () => findUser(db, { steamId64: player }, now),
      () => connection.unsafe(USER_BY_HAND, parameters, { prepare: true }).values(),
    );
    const record = await timeInTurn(
      () => loadPlayerRecord(db, player, { page: 1, perPage: 10, now }),
      () => connection`select 1`,
    );
    return [
      compare('a user, and whether they are banned', user, { name: 'one statement by hand', atMost: 3 }),
      compare('the record that /ban-check shows', record, { name: 'select 1', atMost: 6 }),
    ];
  },
};

/** The medians of both, call by call, in milliseconds until the rows have come. */
async function timeInTurn(ours: () => PromiseLike<unknown>, floor: () => PromiseLike<unknown>) {
  return medians(await alternate(CALLS, { ours: () => timeOf(ours), floor: () => timeOf(floor) }));
}
