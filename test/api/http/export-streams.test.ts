import { expect, test } from 'bun:test';
import { createExports } from '../../../api/http/export-streams.ts';

test('reads only one piece ahead of the client', async () => {
  let pieces = 0;
  async function* produce() {
    for (;;) {
      pieces += 1;
      yield new Uint8Array(1024);
    }
  }
  const { begin } = createExports({ second: () => new Error(), tooMany: () => new Error() });
  const body = await begin({ id: 1 }, async () => ({ chunks: produce(), close: async () => {} }));
  const reader = body.getReader();
  for (let piece = 0; piece < 3; piece++) await reader.read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(pieces).toBeLessThanOrEqual(4);
  await reader.cancel();
});
