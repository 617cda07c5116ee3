import { afterAll } from 'bun:test';
import { cleanUp } from './cleanup.ts';
import { stopTestServer } from './database/database.ts';

afterAll(async () => {
  await cleanUp();
  await stopTestServer();
});
