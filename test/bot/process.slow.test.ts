import { beforeAll, expect, test } from 'bun:test';
import { BOT_TEXTS } from '../../bot/locales/localization.ts';
import { linkDiscord } from '../../src/queries/users/user-changes.ts';
import { findUserBySteamId } from '../../src/queries/users/users.ts';
import { titleOfBan } from '../support/bot/feeds.ts';
import {
  aServerState,
  insertPenalties,
  insertServer,
  insertUser,
  saveServerPoll,
} from '../support/database/builders.ts';
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
const env = botEnv(folder, { databaseUrl: database.url, discord: fake });
let program: Program;
let url: string;

/** Starts the service, and waits until it listens at {@link url}. */
async function start(more: Record<string, string> = {}): Promise<void> {
  program = startProgram('src/main.ts', { ...env, ...more });
  const [, port] = await program.waitFor(/"port":(\d+)/);
  url = `http://127.0.0.1:${port}`;
}
async function stop(): Promise<void> {
  program.kill('SIGTERM');
  expect(await program.exited).toBe(0);
}
const get = async (path: string) => {
  const response = await fetch(`${url}${path}`, { redirect: 'manual' });
  return { status: response.status, text: await response.text() };
};
const ready = async () => {
  const { status, text } = await get('/readyz');
  return { ...JSON.parse(text), status };
};

beforeAll(async () => {
  const mirage = { slug: 'mirage', name: 'Mirage', address: '203.0.113.5:27015' };
  const { id } = await insertServerWithHistory(database.db, { ...mirage, now: new Date(), days: 1 });
  const state = aServerState({ playersCount: 1, pingMs: 9 });
  await saveServerPoll(database.db, id, { state, polledAt: new Date() });
  await insertServer(database.db, { slug: 'odd', name: 'Odd', address: 'evil\r\nX: y' });
  await start();
  await program.waitFor('slash commands registered');
});

test('answers on Discord with a chart, and its Connect button leads to the page that opens the game', async () => {
  const exchange = await fake.command('server', { name: 'mirage' });
  // On a busy machine the response is deferred, and comes later.
  const message = await waitFor(() => exchange.message?.embeds[0] && exchange.message);
  expect(findButton(message, en.buttons.connect)?.url).toBe('https://play.example.org/connect/mirage');
  expect(message.embeds[0]?.image).toEqual({ url: 'attachment://players.png' });
  const page = await get('/connect/mirage');
  expect(page.status).toBe(200);
  expect(page.text).toContain('href="steam://connect/203.0.113.5:27015"');
  expect((await get('/connect/nope')).status).toBe(404);
  expect((await get('/connect/odd')).text).not.toContain('steam://');
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
  const posts = { total: 1, paused: 0, behind: 0 };
  expect(await ready()).toMatchObject({
    status: 200,
    bot: {
      state: 'ready',
      feeds: posts,
      liveMessages: { ...posts, total: 0 },
      directMessages: { ...posts, total: 0 },
    },
    commands: 'registered',
  });
  const { text: metrics } = await get('/metrics');
  expect(metrics).toContain('community_api_bot_posts{kind="feed"} 1');
  expect(metrics).toContain('community_api_bot_posts_paused{kind="live_message"} 0');
  expect(metrics).toContain('community_api_bot_posts_behind{kind="direct_message"} 0');
  expect(metrics).toContain('community_api_bot_posts_behind_seconds{kind="feed"} 0');
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
  await stop();
  await start({
    DISCORD_GUILD_ID: fake.guild.id,
    DISCORD_ROLE_FLAGS: `has_svip=${gives}`,
    DISCORD_GIVE_ROLES: `linked=${given};has_svip=3;is_banned=${banned}`,
  });
  await waitFor(async () => (await get('/metrics')).text.includes('mirror_up{system="discord"} 1'));
  expect(await ready()).toMatchObject({
    mirror_discord: { isMirroring: true, missing: ['role 3 does not exist'] },
  });
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
  expect((await get('/api/v1/servers')).status).toBe(200);
});

test('a token revoked at run time is reported once; the API keeps running and nothing loops', async () => {
  const identifies = fake.gateway.identifies;
  fake.gateway.closeOnIdentify = 4004;
  fake.gateway.close(4004);
  await program.waitFor('Discord rejected the bot');
  await waitFor(async () => (await ready()).status === 200);
  expect((await ready()).bot).toMatchObject({ state: 'refused', reason: expect.stringContaining('4004') });
  expect((await get('/metrics')).text).toContain('community_api_bot_connected 0');
  expect((await get('/api/v1/servers')).status).toBe(200);
  await Bun.sleep(1500);
  expect(fake.gateway.identifies).toBe(identifies);
  expect(program.stdout().match(/Discord rejected the bot/g)).toHaveLength(1);
});

test('stops in order', stop);

test('/readyz says why nobody is a moderator while anybody may add the bot', async () => {
  const open = await startFakeDiscord({ botIsPublic: true });
  await start({ DISCORD_TOKEN: open.token, DISCORD_API_URL: open.apiUrl });
  await program.waitFor('turn off \\"Public Bot\\" or set DISCORD_GUILD_ID');
  const moderators = 'nobody: the application is public and DISCORD_GUILD_ID is not set';
  expect(await ready()).toMatchObject({ status: 200, bot: { state: 'ready', moderators } });
  await stop();
});

test('the API runs without a token or with Discord unreachable at the start, and one line says so', async () => {
  await start({ DISCORD_TOKEN: '' });
  await program.waitFor('the bot is off: DISCORD_TOKEN is not set');
  await stop();
  await start({ DISCORD_API_URL: 'http://127.0.0.1:1' });
  await program.waitFor('the bot is not connected to Discord');
  expect((await get('/api/v1/servers')).status).toBe(200);
  expect((await ready()).status).toBe(200);
  await stop();
  expect(program.stdout().match(/the bot is not connected to Discord/g)).toHaveLength(1);
});
