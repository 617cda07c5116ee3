import { expect, test } from 'bun:test';
import { openDatabase } from '../../../src/db/database.ts';
import { searchPlayers } from '../../../src/queries/player-search.ts';
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
    const prepared = await own.connection<
      { statement: string }[]
    >`select statement from pg_prepared_statements`;
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
