import { expect, test } from 'bun:test';
import { createMemoryMutex } from '../../../../api/http/keyed-mutex.ts';
import { createDownloads } from '../../../../api/web/account/downloads.ts';
import { aSteamId } from '../../../support/database/builders.ts';

const now = new Date();
const user = (id: number) => ({ id, steamId64: aSteamId(id) });

/** Downloads of endless data. */
function openEndless() {
  const state = { open: 0 };
  const downloads = createDownloads({
    openExport: async () => {
      async function* chunks() {
        for (;;) yield new Uint8Array(1024);
      }
      state.open += 1;
      const close = async () => {
        state.open -= 1;
      };
      return { chunks: chunks(), close };
    },
    mutex: createMemoryMutex(),
  });
  return { state, downloads };
}

test('a user has one download at a time, which ends when its reader leaves', async () => {
  const { state, downloads } = openEndless();
  const first = await downloads.begin(user(1), now);
  await expect(downloads.begin(user(1), now)).rejects.toMatchObject({ status: 429, limit: 10 });
  expect(state.open).toBe(1);
  await first.cancel();
  expect(state.open).toBe(0);
  await (await downloads.begin(user(1), now)).cancel();
});

test('four users download at once, and the service ends them when it stops', async () => {
  const { state, downloads } = openEndless();
  const streams = await Promise.all([1, 2, 3, 4].map((id) => downloads.begin(user(id), now)));
  await expect(downloads.begin(user(5), now)).rejects.toMatchObject({ status: 503 });
  downloads.stop();
  expect(state.open).toBe(0);
  await expect(new Response(streams[0]).bytes()).rejects.toThrow();
  await (await downloads.begin(user(5), now)).cancel();
});

test('a download that cannot be opened leaves its place to the next', async () => {
  let tries = 0;
  const downloads = createDownloads({
    openExport: async () => {
      tries += 1;
      return undefined;
    },
    mutex: createMemoryMutex(),
  });
  for (let attempt = 0; attempt < 5; attempt++) {
    await expect(downloads.begin(user(1), now)).rejects.toThrow('The account was deleted');
  }
  expect(tries).toBe(5);
});
