import { describe, expect, setSystemTime, test } from 'bun:test';
import { createConnections } from '../../support/bot/connections.ts';
import type { FakeDiscord } from '../../support/discord/fake-discord.ts';
import { waitFor } from '../../support/wait.ts';

const aBot = await createConnections();

describe('a connection that breaks is resumed, and what was missed is replayed', () => {
  for (const [name, breakIt] of [
    ['op 7', ({ gateway }: FakeDiscord) => gateway.askToReconnect()],
    ['close code 1006', ({ gateway }: FakeDiscord) => gateway.close(1006)],
    ['close code 4000', ({ gateway }: FakeDiscord) => gateway.close(4000)],
    ['close code 4009', ({ gateway }: FakeDiscord) => gateway.close(4009)],
  ] as const) {
    test(`resumes a connection after ${name}, and what was missed is replayed`, async () => {
      const { fake, connect, reconnected } = await aBot({}, { resumeWithinMs: 8000 });
      await connect();
      breakIt(fake);
      await waitFor(() => !fake.gateway.isReady || fake.gateway.resumes > 0);
      const missed = fake.command('server');
      await reconnected();
      expect((await missed).callback).toBe(4);
      expect(fake.gateway.resumes).toBe(1);
      expect(fake.gateway.identifies).toBe(1);
    });
  }

  test('op 9 that may be resumed resumes on the same connection', async () => {
    const { fake, connect, reconnected } = await aBot();
    await connect();
    fake.gateway.invalidateSessions({ isResumable: true });
    await waitFor(() => fake.gateway.resumes === 1);
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
    expect(fake.gateway.identifies).toBe(1);
  });
});

describe('a session that is lost', () => {
  test('identifies anew after op 9 that may not be resumed', async () => {
    const { fake, connect, reconnected } = await aBot();
    await connect();
    fake.gateway.invalidateSessions({ isResumable: false });
    await waitFor(() => fake.gateway.identifies >= 2);
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
  });

  test('identifies anew after a resume that is refused', async () => {
    const { fake, connect, reconnected } = await aBot();
    await connect();
    fake.gateway.refusesResume = true;
    fake.gateway.close(1006);
    await waitFor(() => fake.gateway.identifies >= 2);
    fake.gateway.refusesResume = false;
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
  });

  test('notices a dead connection by heartbeats that are not acknowledged', async () => {
    const { fake, connect, reconnected } = await aBot({ heartbeatIntervalMs: 200 }, { resumeWithinMs: 8000 });
    await connect();
    fake.gateway.isDeaf = true;
    await waitFor(() => fake.gateway.connections > 1);
    fake.gateway.isDeaf = false;
    await reconnected();
  });
});

describe('a final refusal is reported once, and the bot does not try again', () => {
  for (const code of [4004, 4010, 4011, 4012, 4013, 4014]) {
    test(`close code ${code} at the login`, async () => {
      const { fake, bot, lines } = await aBot({}, { firstBackoffMs: 5, maxBackoffMs: 5 });
      fake.gateway.closeOnIdentify = code;
      bot.start();
      await waitFor(() => bot.health().state === 'refused');
      expect(bot.health().reason).toContain(String(code));
      await Bun.sleep(50);
      expect(fake.gateway.identifies).toBe(1);
      expect(lines().filter(({ msg }) => msg.includes('Discord rejected the bot'))).toHaveLength(1);
    });
  }

  test('a token that REST refuses', async () => {
    const { fake, bot, lines } = await aBot();
    fake.state.token = 'another';
    bot.start();
    await waitFor(() => bot.health().state === 'refused');
    expect(bot.health().reason).toContain('DISCORD_TOKEN');
    expect(fake.gateway.connections).toBe(0);
    expect(lines().filter(({ level }) => level >= 50)).toHaveLength(1);
  });

  test('4014 at run time, when the library still calls itself ready', async () => {
    const { fake, bot, connect } = await aBot();
    await connect();
    fake.gateway.closeOnIdentify = 4014;
    fake.gateway.close(4014);
    await waitFor(() => bot.health().state === 'refused');
  });
});

describe('the bot reconnects, with growing pauses, after', () => {
  test('Discord unreachable at the start', async () => {
    const { fake, bot, lines, reconnected } = await aBot();
    await fake.goAway();
    bot.start();
    await waitFor(() => bot.health().logins >= 4);
    expect(bot.health().state).not.toBe('ready');
    fake.comeBack();
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
    // One line for going down and one for coming back, however many attempts there were.
    expect(lines().filter(({ msg }) => msg.includes('not connected to Discord'))).toHaveLength(1);
    expect(lines().filter(({ msg }) => msg.includes('connected to Discord again'))).toHaveLength(1);
  });

  test('Discord gone for longer than a resume may take', async () => {
    const { fake, bot, lines, connect, reconnected } = await aBot({}, { resumeWithinMs: 20 });
    await connect();
    await fake.goAway();
    await waitFor(() => bot.health().state !== 'ready');
    await Bun.sleep(50);
    fake.comeBack();
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
    expect(lines().filter(({ msg }) => msg.includes('not connected to Discord'))).toHaveLength(1);
  });

  test('5xx, 429 and hung requests at the login', async () => {
    const { fake, bot, reconnected } = await aBot({}, { readyWithinMs: 1000 });
    fake.fail({ matches: /gateway\/bot/, times: 3, response: () => new Response('no', { status: 502 }) });
    fake.fail({
      matches: /gateway\/bot/,
      response: () =>
        Response.json(
          { retry_after: 0.2, message: 'slow', global: true },
          { status: 429, headers: { 'Retry-After': '0.2' } },
        ),
    });
    fake.fail({ matches: /gateway\/bot/, response: 'hang' });
    bot.start();
    await reconnected();
    expect((await fake.command('server')).callback).toBe(4);
    fake.clearFaults();
  });

  test('a gateway that says nothing, and one that never sends READY', async () => {
    const { fake, bot, reconnected } = await aBot({}, { readyWithinMs: 400 });
    fake.gateway.holdsHello = true;
    bot.start();
    await waitFor(() => bot.health().logins === 2);
    fake.gateway.holdsHello = false;
    fake.gateway.holdsReady = true;
    await waitFor(() => bot.health().logins === 4);
    fake.gateway.holdsReady = false;
    await reconnected();
    // The abandoned client neither connects again nor stays connected.
    await Bun.sleep(90);
    expect(fake.gateway.openSockets).toBe(1);
    expect((await fake.command('server')).callback).toBe(4);
  });

  test('a connection that breaks again and again does not use up the identifies of a day', async () => {
    const { fake, bot, connect } = await aBot({}, { firstBackoffMs: 5000, maxBackoffMs: 5000 });
    await connect();
    const breaking = setInterval(() => fake.gateway.close(4000), 100);
    await waitFor(() => bot.health().state === 'waiting');
    clearInterval(breaking);
    expect(fake.gateway.connections).toBeLessThan(12);
  });

  test('breaks of one minute count together, however far the system clock is set between them', async () => {
    const { fake, bot, connect } = await aBot({}, { firstBackoffMs: 5000, maxBackoffMs: 5000 });
    await connect();
    let hours = 0;
    const breaking = setInterval(() => {
      hours += 1;
      setSystemTime(new Date(Date.now() + 3_600_000));
      fake.gateway.close(4000);
    }, 100);
    try {
      await waitFor(() => bot.health().state === 'waiting');
      expect(hours).toBeGreaterThan(5);
    } finally {
      clearInterval(breaking);
      setSystemTime();
    }
  });
});

describe('stopping', () => {
  test('a stop between Identify and READY ends, and nothing connects afterwards', async () => {
    const { fake, bot } = await aBot();
    fake.gateway.holdsReady = true;
    bot.start();
    await waitFor(() => fake.gateway.identifies === 1);
    await bot.stop();
    expect(bot.health().state).toBe('stopped');
    await Bun.sleep(90);
    expect(fake.gateway.connections).toBe(1);
  });

  test('a stop during a pause ends', async () => {
    const { fake, bot } = await aBot({}, { firstBackoffMs: 60_000, maxBackoffMs: 60_000 });
    await fake.stop();
    bot.start();
    await waitFor(() => bot.health().state === 'waiting');
    await bot.stop();
  });
});
