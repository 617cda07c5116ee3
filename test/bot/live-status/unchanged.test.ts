import { expect, test } from 'bun:test';
import { startTestBot } from '../../support/bot/bot.ts';
import { createLiveMessages } from '../../support/bot/live-messages.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startTestBot({ bot: { timings: { liveIntervalMs: 50 } } });
const { poll, refreshServers } = harness;
const { moderator, serverId, pin, edits } = await createLiveMessages(harness);
await harness.connect();

test('a list is not edited when only scores have changed, which it does not show', async () => {
  const list = (await pin(moderator, '')).posted?.id ?? '';
  const card = (await pin()).posted?.id ?? '';
  for (const score of [10, 20, 30]) {
    await poll(serverId, { playersCount: 1, players: [{ name: 'P1', score }] });
    await refreshServers();
    await waitFor(() => JSON.stringify(harness.fake.messages.get(card)?.embeds).includes(`  ${score}`));
  }
  expect(edits(list)).toEqual([]);
  await poll(serverId, { playersCount: 2, players: [{ name: 'P1', score: 30 }] });
  await refreshServers();
  await waitFor(() => edits(list).length === 1);
});
