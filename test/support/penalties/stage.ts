import { connect } from '../../../src/db/client.ts';
import { insertUser } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { aToken, startTestService } from '../service/service.ts';
import { WRITERS } from './history.ts';

/** Where histories are played, one after the other: they wait for the database most of the time, so there are several. */
export async function openStage() {
  const database = await createTestDatabase();
  const { db, url } = database;
  for (const number of [1, 2]) await insertUser(db, number);
  const { token } = await aToken(db, 900);
  const service = await startTestService({ databaseUrl: url });
  const openWriter = () => connect(url, { max: 1, applicationName: 'writer' });
  const writers = WRITERS.map(openWriter);
  return { database, service, token, openWriter, writers };
}
export type Stage = Awaited<ReturnType<typeof openStage>>;
