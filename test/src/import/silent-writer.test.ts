import { afterAll, expect, test } from 'bun:test';
import { openPenaltyWriter } from '../../../src/import/writer.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';

const { url } = await createTestDatabase();
const proxy = await startDatabaseProxy(url);
afterAll(proxy.stop);

test('a write on a connection that fell silent ends once its process no longer leads', async () => {
  const leading = new AbortController();
  const options = { isDryRun: false, waits: false, signal: leading.signal };
  const writer = await openPenaltyWriter(proxy.url, 'silent', options);
  proxy.freeze();
  const written = writer?.markGone(['ban'], new Date());
  leading.abort();
  await expect(written).rejects.toThrow();
  await writer?.close();
});
