import { afterAll, beforeAll, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { linkDiscord } from '../../src/queries/users/user-changes.ts';
import { findUserBySteamId } from '../../src/queries/users/users.ts';
import { titleOfBan } from '../support/bot/feeds.ts';
import { insertPenalties, insertServer, insertUser, saveServerPoll } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { insertServerWithHistory } from '../support/database/server-history.ts';
import { anActor } from '../support/discord/actor.ts';
import { startFakeDiscord } from '../support/discord/fake-discord.ts';
import { findButton } from '../support/discord/messages.ts';
import { runCli } from '../support/service/cli.ts';
import { botEnv, createTestFolder, type Program, startProgram } from '../support/service/program.ts';
import { waitFor } from '../support/wait.ts';

const { en } = BOT_TEXTS;

/** The whole service as a process, with a Discord that misbehaves: whatever happens to the bot, the API keeps working. */
const folder = createTestFolder();
const fake = await startFakeDiscord();
const database = await createTestDatabase();
const env = botEnv(folder.path, { databaseUrl: database.url, discord: fake });
let program: Program;
let url: string;

const ready = async () => {
  const response = await fetch(`${url}/readyz`);
  const { bot, commands }: { bot: { state: string; reason?: string } | string; commands?: string } =
    JSON.parse(await response.text());
  return { status: response.status, bot, commands };
};

beforeAll(async () => {
  const { id } = await insertServerWithHistory(database.db, {
    slug: 'mirage',
    name: 'Mirage',
    address: '203.0.113.5:27015',
    now: new Date(),
    days: 1,
  });
  const state = {
    hostname: 'Mirage',
    map: 'de_mirage',
    playersCount: 1,
    maxPlayers: 10,
    pingMs: 9,
    players: [],
  };
  await saveServerPoll(database.db, id, { state, polledAt: new Date() });
  await insertServer(database.db, { slug: 'odd', name: 'Odd', address: 'evil\r\nX: y' });
  program = startProgram('src/main.ts', env);
  const [, port] = await program.waitFor(/"port":(\d+)/);
  url = `http://127.0.0.1:${port}`;
  await program.waitFor('slash commands registered');
});
afterAll(async () => {
  program.kill('SIGKILL');
  await program.exited;
  await fake.stop();
  await folder.remove();
});

test('registers five slash commands and one menu entry at the first start', () => {
  const commands = fake.commands.get('global') ?? [];
  expect(commands.map(({ type, name }) => [type, name])).toEqual([
    [1, 'server'],
    [1, 'ban-check'],
    [1, 'lookup'],
    [2, en.commands.checkBans.name],
    [1, 'feed'],
    [1, 'notify'],
  ]);
});

test('answers on Discord with a chart, and its Connect button leads to the page that opens the game', async () => {
  const exchange = await fake.command('server', { name: 'mirage' });
  // On a busy machine the response is deferred, and comes later.
  const message = await waitFor(() => exchange.message?.embeds[0] && exchange.message);
  expect(findButton(message, en.buttons.connect)?.url).toBe('https://play.example.org/connect/mirage');
  expect(message.embeds[0]?.image).toEqual({ url: 'attachment://players.png' });
  const page = await fetch(`${url}/connect/mirage`, { redirect: 'manual' });
  expect(page.status).toBe(200);
  expect(await page.text()).toContain('href="steam://connect/203.0.113.5:27015"');
  expect((await fetch(`${url}/connect/nope`)).status).toBe(404);
  expect(await (await fetch(`${url}/connect/odd`)).text()).not.toContain('steam://');
});

test('a feed tells a channel about a ban that somebody wrote into the database', async () => {
  const manager = anActor({ isManager: true, channelId: '940000000000000001' });
  await fake.command('feed start', { what: 'penalties' }, manager);
  const [ban] = await insertPenalties(database.db, [{}]);
  const posted = () => fake.messagesIn(manager.channelId).slice(1);
  await waitFor(() => posted().length === 1);
  expect(posted()[0]?.embeds[0]?.title).toBe(titleOfBan(ban?.id, 'ACTIVE'));
});

test('/readyz and /metrics say how the bot is', async () => {
  expect(await ready()).toMatchObject({
    status: 200,
    bot: { state: 'ready' },
    commands: 'registered',
  });
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toContain('community_api_bot_connected 1');
  expect(metrics).toContain('# TYPE community_api_bot_interactions_total counter');
  expect(metrics).toMatch(/community_api_bot_interactions_total\{outcome="completed"\} [1-9]/);
  expect(metrics).toContain('community_api_bot_interactions_total{outcome="rate_limited"} 0');
  expect(metrics).toContain('community_api_bot_logins_total 1');
});

test('a linked account gets its flag and role as soon as the database says so', async () => {
  const [gives, given, banned] = ['710000000000000001', '710000000000000002', '710000000000000003'];
  fake.guild.addRoles(gives, given, banned);
  fake.guild.setMember('600000000000000001', [gives]);
  const user = await insertUser(database.db, 700);
  const withRoles = startProgram('src/main.ts', {
    ...env,
    DISCORD_GUILD_ID: fake.guild.id,
    DISCORD_ROLE_FLAGS: `has_svip=${gives}`,
    DISCORD_GIVE_ROLES: `linked=${given};has_svip=3;is_banned=${banned}`,
  });
  const [, port] = await withRoles.waitFor(/"port":(\d+)/);
  program.kill('SIGTERM');
  await program.exited;
  program = withRoles;
  url = `http://127.0.0.1:${port}`;
  const readRoles = async () =>
    (JSON.parse(await (await fetch(`${url}/readyz`)).text()) as Record<string, unknown>).mirror_discord;
  await waitFor(async () =>
    (await (await fetch(`${url}/metrics`)).text()).includes('mirror_up{system="discord"} 1'),
  );
  expect(await readRoles()).toMatchObject({ isMirroring: true, missing: ['role 3 does not exist'] });
  await linkDiscord(database.db, user, { id: '600000000000000001', username: 'x', avatar: null });
  await waitFor(() => fake.guild.rolesOf('600000000000000001')?.includes(given), { limitMs: 20_000 });
  await insertPenalties(database.db, [{ playerSteamId: user.steamId64 }]);
  await waitFor(() => fake.guild.rolesOf('600000000000000001')?.includes(banned), { limitMs: 20_000 });
  expect(await findUserBySteamId(database.db, user.steamId64)).toMatchObject({ hasSvip: true });
});

test('`bun run cli bot register` registers the commands again, beside the running service', async () => {
  fake.commands.clear();
  const register = (more: Record<string, string>) => runCli(['bot', 'register'], { ...env, ...more });
  expect(await register({})).toMatchObject({ code: 0, stdout: 'Registered 6 commands globally\n' });
  expect(fake.commands.get('global')).toHaveLength(6);
  const without = await register({ DISCORD_TOKEN: '' });
  expect([without.code, without.stderr]).toEqual([1, expect.stringContaining('DISCORD_TOKEN is not set')]);
  expect(await register({ DISCORD_TOKEN: 'wrong' })).toMatchObject({
    code: 1,
    stderr: 'Discord rejected DISCORD_TOKEN: copy the token from the developer portal again\n',
  });
});

test('malformed events do not end the process', async () => {
  for (const data of [
    null,
    7,
    {},
    { id: '1', type: 2 },
    { id: '1', type: 3, data: null },
    { id: '1', type: 4, data: {} },
  ]) {
    fake.gateway.dispatch('INTERACTION_CREATE', data);
  }
  fake.gateway.sendRaw('{"op":0,"t":"INTERACTION_CREATE","s":"x"}');
  fake.gateway.sendRaw('not json');
  expect((await fake.command('server')).callback).toBe(4);
  expect((await fetch(`${url}/api/v1/servers`)).status).toBe(200);
});

test('a token revoked at run time is reported once; the API keeps running and nothing loops', async () => {
  const identifies = fake.gateway.identifies;
  fake.gateway.closeOnIdentify = 4004;
  fake.gateway.close(4004);
  await program.waitFor('Discord rejected the bot');
  await waitFor(async () => (await ready()).status === 200);
  expect((await ready()).bot).toMatchObject({ state: 'refused', reason: expect.stringContaining('4004') });
  expect(await (await fetch(`${url}/metrics`)).text()).toContain('community_api_bot_connected 0');
  expect((await fetch(`${url}/api/v1/servers`)).status).toBe(200);
  await Bun.sleep(1500);
  expect(fake.gateway.identifies).toBe(identifies);
  expect(program.stdout().match(/Discord rejected the bot/g)).toHaveLength(1);
});

test('stops in order', async () => {
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
});

test('/readyz says why nobody is a moderator while anybody may add the bot', async () => {
  const open = await startFakeDiscord({ botIsPublic: true });
  const exposed = startProgram('src/main.ts', {
    ...env,
    DISCORD_TOKEN: open.token,
    DISCORD_API_URL: open.apiUrl,
  });
  const [, port] = await exposed.waitFor(/"port":(\d+)/);
  url = `http://127.0.0.1:${port}`;
  await exposed.waitFor('turn off \\"Public Bot\\" or set DISCORD_GUILD_ID');
  expect(await ready()).toMatchObject({
    status: 200,
    bot: {
      state: 'ready',
      moderators: 'nobody: the application is public and DISCORD_GUILD_ID is not set',
    },
  });
  exposed.kill('SIGTERM');
  expect(await exposed.exited).toBe(0);
  await open.stop();
});

test('the API runs without a token or with Discord unreachable at the start, and one line says so', async () => {
  const alone = startProgram('src/main.ts', { ...env, DISCORD_TOKEN: '' });
  await alone.waitFor(/"port":(\d+)/);
  await alone.waitFor('the bot is off: DISCORD_TOKEN is not set');
  alone.kill('SIGTERM');
  expect(await alone.exited).toBe(0);
  const away = startProgram('src/main.ts', { ...env, DISCORD_API_URL: 'http://127.0.0.1:1' });
  const [, port] = await away.waitFor(/"port":(\d+)/);
  await away.waitFor('the bot is not connected to Discord');
  expect((await fetch(`http://127.0.0.1:${port}/api/v1/servers`)).status).toBe(200);
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
  away.kill('SIGTERM');
  expect(await away.exited).toBe(0);
  expect(away.stdout().match(/the bot is not connected to Discord/g)).toHaveLength(1);
});
