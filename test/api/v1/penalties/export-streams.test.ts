import { expect, test } from 'bun:test';
import { streamExport } from '../../../../api/v1/penalties/export-streams.ts';

/** An endless export that produces some kilobytes for each read. */
function openEndless(chunkKb: number) {
  const state = { isClosed: false, ends: 0, takenKb: 0 };
  async function* records() {
    for (;;) {
      state.takenKb += chunkKb;
      yield { bytes: new Uint8Array(chunkKb * 1024), count: 1 };
    }
  }
  const { body } = streamExport(
    {
      cursor: { epoch: '00000000', id: 0 },
      records: records(),
      close: async () => {
        state.isClosed = true;
      },
    },
    {
      formatEnd: () => '',
      onEnd: () => {
        state.ends += 1;
      },
    },
  );
  return { state, reader: body.getReader() };
}

/** Reads a chunk at intervals. @returns for how many milliseconds the stream was served. */
async function readSlowly(
  { state, reader }: ReturnType<typeof openEndless>,
  { everyMs, limitMs }: { everyMs: number; limitMs: number },
): Promise<number> {
  const sinceMs = performance.now();
  let readAtMs = sinceMs;
  while (!state.isClosed && performance.now() - sinceMs < limitMs) {
    if (performance.now() >= readAtMs) {
      readAtMs += everyMs;
      await reader.read().catch(() => undefined);
    }
    await Bun.sleep(50);
  }
  return performance.now() - sinceMs;
}

test('a client that reads a little at a time holds an export for half a minute at most; one that keeps up goes on', async () => {
  const [trickling, keepingUp] = [openEndless(16), openEndless(512)];
  const [servedMs] = await Promise.all([
    readSlowly(trickling, { everyMs: 2000, limitMs: 60_000 }),
    readSlowly(keepingUp, { everyMs: 1000, limitMs: 40_000 }),
  ]);
  expect([trickling.state.isClosed, trickling.state.ends]).toEqual([true, 1]);
  expect(servedMs).toBeLessThan(35_000);
  expect(trickling.reader.read()).rejects.toThrow('the client reads too slowly');
  expect([keepingUp.state.isClosed, keepingUp.state.takenKb > 15_000]).toEqual([false, true]);
  await keepingUp.reader.cancel();
  expect([keepingUp.state.isClosed, keepingUp.state.ends]).toEqual([true, 1]);
}, 90_000);

test('only one piece is read ahead of the client', async () => {
  const { state, reader } = openEndless(1);
  for (let piece = 0; piece < 3; piece++) await reader.read();
  await Bun.sleep(100);
  expect(state.takenKb).toBeLessThanOrEqual(4);
  await reader.cancel();
});
