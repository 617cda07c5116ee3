import { afterAll, expect, test } from 'bun:test';
import { connect } from '../../../../src/db/client.ts';
import { createPool } from '../../../../src/db/connection/pool.ts';
import { createTestDatabase } from '../../../support/database/database.ts';

const { url } = await createTestDatabase();
const connection = connect(url, { max: 1, applicationName: 'pool' });
afterAll(() => connection.end({ timeout: 0 }));

test('a connection whose first statement was given up while it opened serves the next ones', async () => {
  const pool = createPool(connection, 1);
  const first = pool.submit((driver) => driver`select 1`);
  first.giveUp();
  const second = pool.submit((driver) => driver`select 2 as number`);
  expect([...(await second.promise)]).toEqual([{ number: 2 }]);
  await first.promise.catch(() => {});
  expect(pool.load()).toEqual({ inUse: 0, waiting: 0, max: 1 });
});
