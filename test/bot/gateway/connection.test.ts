import { afterEach, describe, expect, setSystemTime, test } from 'bun:test';
import { type BotDeps, createBot } from '../../../bot/bot.ts';
import { startTestBot } from '../../support/bot/bot.ts';
import { type FakeDiscord, startFakeDiscord } from '../../support/discord/fake-discord.ts';
import { refuse, slowDown } from '../../support/discord/faults.ts';
import { runCli } from '../../support/service/cli.ts';
import { waitFor } from '../../support/wait.ts';

const { deps, lines: allLines } = await startTestBot();
const started: { stop: () => Promise<void> }[] = [];
afterEach(async () => {
  for (const { stop } of started.splice(0)) await stop();
});

/** A bot at a Discord of its own, until the end of the test. */
async function aBot(options: Parameters<typeof startFakeDiscord>[0] = {}, timings: BotDeps['timings'] = {}) {
  const fake = await startFakeDiscord(options);
  const seen = allLines.length;
  const { token, apiUrl } = fake;
  const bot = createBot({ ...deps, token, apiUrl, timings: { ...deps.timings, ...timings } });
  started.push(bot, fake);
  const lines = () => allLines.slice(seen);
  /** Waits until both sides call it connected, and commands work. */
  const connected = async () => {
    await waitFor(() => bot.health().state === 'ready' && fake.gateway.isReady);
    expect((await fake.command('server')).callback).toBe(4);
  };
  return {
    fake,
    bot,
    lines,
    /** How many lines contain a text. */
    countLines: (text: string) => lines().filter(({ msg }) => msg.includes(text)).length,
    connected,
    connect: () => {
      bot.start();
      return connected();
    },
  };
}

test.each([
  ['op 7', ({ gateway }: FakeDiscord) => gateway.askToReconnect()],
  ['close code 1006', ({ gateway }: FakeDiscord) => gateway.close(1006)],
  ['close code 4000', ({ gateway }: FakeDiscord) => gateway.close(4000)],
  ['close code 4009', ({ gateway }: FakeDiscord) => gateway.close(4009)],
  [
    'op 9 that may be resumed',
    ({ gateway }: FakeDiscord) => gateway.invalidateSessions({ isResumable: true }),
  ],
])('resumes a connection after %s, and what was missed is replayed', async (_, breakIt) => {
  const { fake, connect, connected } = await aBot({}, { resumeWithinMs: 8000 });
  await connect();
  breakIt(fake);
  await waitFor(() => !fake.gateway.isReady || fake.gateway.resumes > 0);
  const missed = fake.command('server');
  await connected();
  expect((await missed).callback).toBe(4);
  expect(fake.gateway.resumes).toBe(1);
  expect(fake.gateway.identifies).toBe(1);
});

describe('a session that is lost', () => {
  test.each<[string, (discord: FakeDiscord) => void]>([
    ['op 9 that may not be resumed', ({ gateway }) => gateway.invalidateSessions({ isResumable: false })],
    [
      'a resume that is refused',
      ({ gateway }) => {
        gateway.refusesResume = true;
        gateway.close(1006);
      },
    ],
  ])('identifies anew after %s', async (_, loseIt) => {
    const { fake, connect, connected } = await aBot();
    await connect();
    loseIt(fake);
    await waitFor(() => fake.gateway.identifies >= 2);
    await connected();
  });

  test('notices a dead connection by heartbeats that are not acknowledged', async () => {
    const { fake, connect, connected } = await aBot({ heartbeatIntervalMs: 200 }, { resumeWithinMs: 8000 });
    await connect();
    fake.gateway.isDeaf = true;
    await waitFor(() => fake.gateway.connections > 1);
    fake.gateway.isDeaf = false;
    await connected();
  });
});

describe('a final refusal is reported once, and the bot does not try again', () => {
  test.each([4004, 4010, 4011, 4012, 4013, 4014])('close code %d at the login', async (code) => {
    const { fake, bot, countLines } = await aBot({}, { firstBackoffMs: 5, maxBackoffMs: 5 });
    fake.gateway.closeOnIdentify = code;
    bot.start();
    await waitFor(() => bot.health().state === 'refused');
    expect(bot.health().reason).toContain(String(code));
    await Bun.sleep(50);
    expect(fake.gateway.identifies).toBe(1);
    expect(countLines('Discord rejected the bot')).toBe(1);
  });

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
    const { fake, bot, countLines, connected } = await aBot();
    await fake.goAway();
    bot.start();
    await waitFor(() => bot.health().logins >= 4);
    expect(bot.health().state).not.toBe('ready');
    fake.comeBack();
    await connected();
    // One line for going down and one for coming back, however many attempts there were.
    expect(countLines('not connected to Discord')).toBe(1);
    expect(countLines('connected to Discord again')).toBe(1);
  });

  test('Discord gone for longer than a resume may take', async () => {
    const { fake, bot, countLines, connect, connected } = await aBot({}, { resumeWithinMs: 20 });
    await connect();
    await fake.goAway();
    await waitFor(() => bot.health().state !== 'ready');
    await Bun.sleep(50);
    fake.comeBack();
    await connected();
    expect(countLines('not connected to Discord')).toBe(1);
  });

  test('5xx, 429 and hung requests at the login', async () => {
    const { fake, bot, connected } = await aBot({}, { readyWithinMs: 1000 });
    fake.fail({ matches: /gateway\/bot/, times: 3, response: refuse(502) });
    fake.fail({ matches: /gateway\/bot/, response: slowDown(0.2, { isGlobal: true }) });
    fake.fail({ matches: /gateway\/bot/, response: 'hang' });
    bot.start();
    await connected();
    fake.clearFaults();
  });

  test('a gateway that says nothing, and one that never sends READY', async () => {
    const { fake, bot, connected } = await aBot({}, { readyWithinMs: 400 });
    fake.gateway.holdsHello = true;
    bot.start();
    await waitFor(() => bot.health().logins === 2);
    fake.gateway.holdsHello = false;
    fake.gateway.holdsReady = true;
    await waitFor(() => bot.health().logins === 4);
    fake.gateway.holdsReady = false;
    await connected();
    // The abandoned client neither connects again nor stays connected.
    await Bun.sleep(90);
    expect(fake.gateway.openSockets).toBe(1);
  });

  test('a connection that breaks again and again does not use up the identifies of a day, wherever the system clock is set', async () => {
    const patient = { firstBackoffMs: 5000, maxBackoffMs: 5000 };
    const { fake, bot, connect } = await aBot({}, { ...patient, resumeWithinMs: 60_000 });
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
      expect(fake.gateway.connections).toBeLessThan(12);
    } finally {
      clearInterval(breaking);
      setSystemTime();
    }
  });
});

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

/** View Channel, Send Messages, Embed Links and Send Messages in Threads. */
const PERMISSIONS = 0x400 + 0x800 + 0x4000 + 2 ** 38;
const MANAGE_ROLES = 0x10000000;
const INVITATION = `https://discord.com/oauth2/authorize?client_id=800000000000000001&scope=bot+applications.commands&permissions=${PERMISSIONS}`;

test('the operator tool prints the invitation, into the guild of the settings', async () => {
  const fake = await startFakeDiscord();
  const env = { DISCORD_TOKEN: fake.token, DISCORD_API_URL: fake.apiUrl };
  expect(await runCli(['bot', 'invite'], env)).toEqual({ code: 0, stdout: `${INVITATION}\n`, stderr: '' });
  const { stdout } = await runCli(['bot', 'invite', '--json'], { ...env, DISCORD_GUILD_ID: '9' });
  expect(JSON.parse(stdout)).toEqual({ url: `${INVITATION}&guild_id=9` });
  const withRoles = { ...env, DISCORD_GUILD_ID: '9', DISCORD_GIVE_ROLES: 'linked=1' };
  expect((await runCli(['bot', 'invite'], withRoles)).stdout).toContain(
    `permissions=${PERMISSIONS + MANAGE_ROLES}&guild_id=9`,
  );
  expect(await runCli(['bot', 'invite'], { ...env, DISCORD_TOKEN: 'other' })).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Discord rejected DISCORD_TOKEN'),
  });
});

test('a bot in no guild logs its invitation, one in a guild does not', async () => {
  for (const guildIds of [[], ['1']]) {
    const { connect, lines } = await aBot({ guildIds });
    await connect();
    await waitFor(() => lines().some(({ msg }) => msg.startsWith('slash commands')));
    const invitations = lines().filter((line) => 'invitation' in line);
    expect(invitations).toMatchObject(guildIds.length === 0 ? [{ level: 40, invitation: INVITATION }] : []);
  }
});
