import { expect, test } from 'bun:test';
import { createBot } from '../../../bot/bot.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { createLiveMessages } from '../../support/bot/live-messages.ts';
import { waitFor } from '../../support/wait.ts';

const harness = await startTestBot({ bot: { timings: { liveIntervalMs: 50 } } });
const { fake, bot, deps, lines } = harness;
const { addPlayer, pin, edits, showsLastPlayer } = await createLiveMessages(harness);
await harness.connect();

/** The response to one edit too many. */
const slowDown = (seconds: number) => () =>
  Response.json(
    { message: 'You are being rate limited.', retry_after: seconds, global: false },
    { status: 429, headers: { 'retry-after': `${seconds}` } },
  );

test('a bot that stops while Discord slows it down leaves its edits to the next one', async () => {
  const { posted } = await pin();
  const id = posted?.id ?? '';
  const matches = new RegExp(`^PATCH .*/messages/${id}$`);
  fake.fail({ matches, response: slowDown(1) });
  await addPlayer();
  await waitFor(() => edits(id).length === 1);
  await bot.stop();
  await addPlayer();
  // By the time the next bot may edit, the first one would have sent its edit, which is outdated.
  fake.fail({ matches, response: slowDown(2) });
  const next = createBot(deps);
  next.start();
  await waitFor(() => showsLastPlayer(id));
  await next.stop();
  expect(edits(id)).toHaveLength(3);
  expect(lines.filter(({ msg }) => msg.includes('editing a live status message failed'))).toEqual([]);
});
