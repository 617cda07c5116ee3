import { expect, test } from 'bun:test';
import { sql } from 'drizzle-orm';
import { openDatabase } from '../../../src/db/database.ts';
import { searchPlayers } from '../../../src/queries/player-search.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId, insertPenalties } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { NOW } from '../../support/service/service.ts';

const database = await createTestDatabase();
const { db, connection } = database;

test('a rare text is found without reading the recent players, once there are statistics', async () => {
  await insertPenalties(
    db,
    Array.from({ length: 400 }, (_, index) => ({
      playerSteamId: aSteamId(index + 1),
      playerName: `Gracz ${index === 7 ? 'rare' : index}`,
    })),
  );
  await connection`analyze player_names`;
  const own = openDatabase(database.url, { max: 1 });
  const find = async (text: string) =>
    (await searchPlayers(own.db, text, { limit: 25, now: NOW })).map(({ name }) => name);
  const hasReadRecent = async () => {
    const prepared = await own.db.execute<{ statement: string }>(
      sql`select statement from pg_prepared_statements`,
    );
    return prepared.some(({ statement }) => /^\s*with penalised /.test(statement));
  };
  try {
    expect(await find('rare')).toEqual(['Gracz rare']);
    expect(await hasReadRecent()).toBe(false);
    expect(await find('gracz')).toHaveLength(25);
    expect(await hasReadRecent()).toBe(true);
  } finally {
    await own.close();
  }
});

test('the latest of several names of one second is that of the penalty with the highest id', async () => {
  await connection`truncate penalties`;
  const names = ['Ala 1', 'Ala 2', 'Ala 3', 'Ala 4', 'Ola', 'Ela'];
  for (const [index, order] of [names, names.toReversed()].entries()) {
    const createdAt = new Date(NOW.getTime() + index * 1000);
    const ofPlayer = { playerSteamId: aSteamId(index + 1), createdAt };
    await insertPenalties(
      db,
      order.map((playerName) => ({ ...ofPlayer, playerName })),
    );
  }
  const find = (text: string) => searchPlayers(db, text, { limit: 25, now: NOW });
  expect(await find('ala')).toMatchObject([
    { steamId64: aSteamId(2), name: 'Ala 1', matchedName: 'Ala 1' },
    { steamId64: aSteamId(1), name: 'Ela', matchedName: 'Ala 4' },
  ]);
  await saveUser(db, aSteamId(1), { changes: { nickname: 'Iza', signedInAt: NOW }, actor: 'operator' });
  expect(await find('ala 3')).toMatchObject([{}, { steamId64: aSteamId(1), name: 'Ela' }]);
});
