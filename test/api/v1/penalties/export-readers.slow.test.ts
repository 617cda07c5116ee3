import { expect, test } from 'bun:test';
import { startExports } from '../../../support/http/exports.ts';
import { waitFor } from '../../../support/wait.ts';

const { fill, open, readNothing, readToEnd, countSessions } = await startExports();

test('an export that is read slowly is whole, though it takes longer than a statement may', async () => {
  await fill(1500);
  const reader = await open();
  await Bun.sleep(16_000);
  const { text } = await readToEnd(reader);
  expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ end: true, count: 1500 });
});

test('an export that nobody reads is aborted after Bun closes the silent connection', async () => {
  await fill(1500);
  const client = await readNothing();
  await waitFor(async () => (await countSessions()) === 0);
  expect(await client.readRest()).not.toContain('"end":true');
});
