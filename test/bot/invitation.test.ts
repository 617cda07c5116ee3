import { expect, test } from 'bun:test';
import { createConnections } from '../support/bot/connections.ts';
import { startFakeDiscord } from '../support/discord/fake-discord.ts';
import { runCli } from '../support/service/cli.ts';
import { waitFor } from '../support/wait.ts';

/** View Channel, Send Messages, Embed Links and Send Messages in Threads. */
const PERMISSIONS = 0x400 + 0x800 + 0x4000 + 2 ** 38;
const MANAGE_ROLES = 0x10000000;
const INVITATION = `https://discord.com/oauth2/authorize?client_id=800000000000000001&scope=bot+applications.commands&permissions=${PERMISSIONS}`;
const aBot = await createConnections();

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
  await fake.stop();
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
