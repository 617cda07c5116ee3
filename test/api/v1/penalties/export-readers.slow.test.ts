import { expect, test } from 'bun:test';
import { startExports } from '../../../support/http/exports.ts';
import { waitForProcess } from '../../../support/wait.ts';

const { caller, fill, open, readNothing, countSessions } = await startExports();

test('Bun aborts an export that nobody reads, and one that is read slowly is whole, though it outlasts a statement', async () => {
  await fill(1500);
  const silent = await readNothing();
  await caller.becomeAnother();
  const reader = await open();
  await Bun.sleep(16_000);
  const text = await reader.readToEnd();
  expect(JSON.parse(text.trimEnd().split('\n').at(-1) ?? '')).toMatchObject({ end: true, count: 1500 });
  // `idleTimeout` of api/http/listen.ts ends it.
  await waitForProcess(async () => (await countSessions()) === 0);
  expect(await silent.readToEnd()).not.toContain('"end":true');
});
