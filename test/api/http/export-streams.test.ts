import { expect, test } from 'bun:test';
import { streamExport } from '../../../api/http/export-streams.ts';

/** An endless export that produces some kilobytes for each read. */
function openEndless(chunkKb: number) {
  const state = { isClosed: false, ends: 0, takenKb: 0 };
  async function* produce() {
    for (;;) {
      state.takenKb += chunkKb;
      yield new Uint8Array(chunkKb * 1024);
    }
  }
  const { body } = streamExport(
    {
      chunks: produce(),
      close: async () => {
        state.isClosed = true;
      },
    },
    () => {
      state.ends += 1;
    },
  );
  return { state, reader: body.getReader() };
}

test('only one piece is read ahead of the client', async () => {
  const { state, reader } = openEndless(1);
  for (let piece = 0; piece < 3; piece++) await reader.read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(state.takenKb).toBeLessThanOrEqual(4);
  await reader.cancel();
});
