import { beforeEach, expect, test } from 'bun:test';
import { startFeedBot } from '../../support/bot/feeds.ts';
import { insertServer } from '../../support/database/builders.ts';
import { anActor } from '../../support/discord/actor.ts';
import { slowDown } from '../../support/discord/faults.ts';
import { waitFor } from '../../support/wait.ts';

/** In place of a minute. */
const PAUSE_MS = 300;
const timings = { unnamedLimitMs: PAUSE_MS, deferAfterMs: 0, firstBackoffMs: 20 };
const harness = await startFeedBot({ timings });
const { fake, db, poll, outcomes, linesAbout, startFeed } = harness;
const { id: serverId } = await insertServer(db, { slug: 'one', name: 'One' });
await poll(serverId, { playersCount: 1 });
beforeEach(async () => {
  fake.clearFaults();
  await harness.restart();
  fake.requests.length = 0;
});

/** A 429 that does not say for how long, as Cloudflare sends it. @param retryAfter no number above 0; undefined: no header. */
const blockAddress = (retryAfter?: string) => (): Response =>
  new Response('<!doctype html><title>Error 1015</title>', {
    status: 429,
    headers: { 'content-type': 'text/html', ...(retryAfter !== undefined && { 'retry-after': retryAfter }) },
  });

/** When each address was asked, the first time first. */
function timesByAddress(): number[][] {
  const requests = Map.groupBy(fake.requests, ({ method, path }) => `${method} ${path}`);
  return [...requests.values()].map((each) => each.map(({ at }) => at));
}
const limit = () => harness.bot.health().reason;

test('the bot repeats no request while a 429 without a duration pauses it', async () => {
  const before = outcomes.length;
  await startFeed({ what: 'servers', after: 0 });
  const person = anActor();
  await fake.command('notify on', { server: 'one', players: 5 }, person);
  fake.requests.length = 0;
  fake.fail({ matches: /./, response: blockAddress(), times: Number.POSITIVE_INFINITY });
  for (let number = 0; number < 20; number += 1) void fake.command('server');
  await poll(serverId, { playersCount: 9 });
  for (const _ of ['first', 'second']) await poll(serverId, undefined);
  await waitFor(() => timesByAddress().filter(({ length }) => length > 1).length > 20);
  const gaps = timesByAddress().flatMap((times) =>
    times.slice(1).map((at, index) => at - (times[index] ?? 0)),
  );
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(PAUSE_MS);
  expect(limit()).toContain('429');
  expect(linesAbout('Discord limits requests')).toHaveLength(1);
  fake.clearFaults();
  await waitFor(() => limit() === undefined);
  await waitFor(() => outcomes.length === before + 2 + 20);
  expect(linesAbout('accepts requests again')).toHaveLength(1);
});

test.each([['0'], ['-1'], ['Wed, 21 Oct 2026 07:28:00 GMT'], ['9999999999']])(
  'sends a response once when its 429 has the Retry-After %s',
  async (retryAfter) => {
    // Longer than Discord waits for a response.
    await harness.restart({ timings: { unnamedLimitMs: 3200 } });
    const before = outcomes.length;
    fake.fail({ matches: /callback/, response: blockAddress(retryAfter), times: Number.POSITIVE_INFINITY });
    void fake.command('server');
    await waitFor(() => outcomes.length > before);
    expect(fake.requests.filter(({ path }) => path.endsWith('/callback'))).toHaveLength(1);
  },
);

test('the bot logs in once a pause while Discord answers logins with a 429 without a duration', async () => {
  fake.fail({ matches: /gateway\/bot/, response: blockAddress(), times: Number.POSITIVE_INFINITY });
  const logins = () => fake.requests.filter(({ path }) => path === '/gateway/bot');
  let attempts = 0;
  const restarting = harness.restart({
    countLogin: () => {
      attempts += 1;
    },
  });
  await waitFor(() => logins().length === 2);
  expect((logins()[1]?.at ?? 0) - (logins()[0]?.at ?? 0)).toBeGreaterThanOrEqual(PAUSE_MS);
  expect(attempts).toBe(2);
  fake.clearFaults();
  await restarting;
});

test('the bot gives up a response after the three seconds that Discord waits for it', async () => {
  const before = outcomes.length;
  fake.fail({ matches: /callback/, response: slowDown(2), times: Number.POSITIVE_INFINITY });
  void fake.command('server');
  await waitFor(() => outcomes.length > before);
  expect(outcomes.at(-1)).toBe('undelivered');
  expect(fake.requests.filter(({ path }) => path.endsWith('/callback'))).toHaveLength(2);
});

test('the bot gives up an edit that a limit would delay beyond the 15 minutes of its interaction', async () => {
  const isDeferred = () => fake.requests.some(({ path }) => path.endsWith('/callback'));
  await harness.restart({
    readHistory: async (...history) => {
      await waitFor(isDeferred);
      return harness.deps.readHistory(...history);
    },
  });
  const before = outcomes.length;
  fake.fail({ matches: /@original/, response: slowDown(901) });
  void fake.command('server', { name: 'one' });
  await waitFor(() => outcomes.length > before);
  expect(outcomes.at(-1)).toBe('undelivered');
  fake.requests.length = 0;
  fake.fail({ matches: /@original/, response: slowDown(0.2) });
  const edited = await fake.command('server', { name: 'one' });
  await waitFor(() => edited.message?.embeds.length);
});
