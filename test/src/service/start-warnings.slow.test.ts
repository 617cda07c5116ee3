import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { createTestDatabase } from '../../support/database/database.ts';
import { sendRaw } from '../../support/http/raw-http.ts';
import { createServices, waitForOrigin } from '../../support/service/program.ts';

const database = await createTestDatabase();
const { folder, start } = createServices(database.url);

/** Starts the service. @returns what it logged until it listened, and its sign-in page as seen under an address. */
async function startService(env: Record<string, string>) {
  const program = start(env);
  const origin = await waitForOrigin(program);
  await program.waitFor('no API tokens yet');
  const showSignIn = async (host: string, language = 'en') => {
    const headers = { Host: host, 'Accept-Language': language };
    return (await sendRaw(origin, '/account', { headers })).text;
  };
  return { log: program.stdout(), showSignIn };
}

/** The first line of a log with this text, parsed. */
function findLine(log: string, text: string) {
  return JSON.parse(log.split('\n').find((line) => line.includes(text)) ?? '{}');
}

test.each([
  ['DISCORD_CLIENT_ID', 'DISCORD_CLIENT_SECRET'],
  ['DISCORD_CLIENT_SECRET', 'DISCORD_CLIENT_ID'],
])('%s without %s is a warning at the start, both together are not', async (set, unset) => {
  const warning = 'Discord accounts cannot be linked';
  const env = { HOST: '127.0.0.1', [set]: '4242' };
  const { log } = await startService(env);
  expect(findLine(log, warning)).toMatchObject({
    level: 'warn',
    msg: `${warning}: set both DISCORD_CLIENT_ID and DISCORD_CLIENT_SECRET`,
  });
  expect((await startService({ ...env, [unset]: '4242' })).log).not.toContain(warning);
});

test('a misspelled setting is a warning at the start, which never shows its value', async () => {
  const { log } = await startService({ HOST: '127.0.0.1', OWNER_STEAMID: 'hunter2' });
  expect(findLine(log, 'did you mean')).toMatchObject({
    level: 'warn',
    msg: 'OWNER_STEAMID is not a setting and is ignored: did you mean OWNER_STEAMIDS?',
  });
  expect(log.match(/did you mean/g)).toHaveLength(1);
  expect(log).not.toContain('hunter2');
});

test('an address of a panel that links nothing, or every penalty to one page, is a warning at the start', async () => {
  const { log } = await startService({ HOST: '127.0.0.1', IKS_PANEL_URL: 'https://panel.example/%id%' });
  expect(findLine(log, 'without IKS_URL')).toMatchObject({
    level: 'warn',
    msg: 'IKS_PANEL_URL is set without IKS_URL: only penalties of that mirror are linked',
  });
  expect(findLine(log, 'placeholder')).toMatchObject({
    level: 'warn',
    msg: 'IKS_PANEL_URL has % around a placeholder, so every link is the same: write {id} or {steamid64}',
  });
});

const NOT_SET = 'PUBLIC_URL is not set';

test('a service that others can reach without PUBLIC_URL warns at its start, and on the page they come to', async () => {
  const { log, showSignIn } = await startService({ HOST: '0.0.0.0' });
  expect(findLine(log, NOT_SET)).toMatchObject({
    level: 'warn',
    msg: 'PUBLIC_URL is not set: sign-in returns to http://localhost:0, which works on this machine only; set it to the address that people open',
  });
  for (const host of ['play.example.org', '192.168.1.5:3000', '[2001:db8::1]']) {
    const page = await showSignIn(host);
    expect(page).toContain('You cannot sign in at this address');
    expect(page).toContain('PUBLIC_URL');
  }
  expect(await showSignIn('play.example.org', 'pl')).toContain('Pod tym adresem nie można się zalogować');
  for (const host of ['localhost:3000', '127.0.0.1:3000', '[::1]:3000']) {
    expect(await showSignIn(host)).not.toContain('PUBLIC_URL');
  }
});

test.each([
  ['with PUBLIC_URL', { HOST: '0.0.0.0', PUBLIC_URL: 'https://play.example.org' }, 'play.example.org'],
  ['on loopback only', { HOST: '127.0.0.1' }, 'localhost'],
])('%s there is nothing to warn of', async (_, env, host) => {
  const { log, showSignIn } = await startService(env);
  expect(log).not.toContain(NOT_SET);
  expect(await showSignIn(host)).not.toContain('PUBLIC_URL');
});

/** Starts a service on a storage folder until it listens, and stops it. @returns what it logged. */
async function runOnce(databaseUrl: string, storage: string): Promise<string> {
  const program = start({ DATABASE_URL: databaseUrl, STORAGE_DIR: join(folder, storage) });
  await program.waitFor('HTTP server listening');
  program.kill('SIGINT');
  await program.exited;
  return program.stdout();
}

test('two processes on one database notice that their STORAGE_DIR differ', async () => {
  const MISMATCH = 'STORAGE_DIR is not the folder';
  // The other tests have a storage folder on theirs.
  const { url } = await createTestDatabase();
  const together = await Promise.all([runOnce(url, 'shared'), runOnce(url, 'shared')]);
  expect(together.join()).not.toContain(MISMATCH);
  const elsewhere = await runOnce(url, 'of-its-own');
  expect(elsewhere).toContain(MISMATCH);
  const { expected, file } = findLine(elsewhere, MISMATCH);
  await Bun.write(file, expected);
  expect(await runOnce(url, 'of-its-own')).not.toContain(MISMATCH);
});

test('a service whose database was replaced by a restored backup ends with one line', async () => {
  const program = start({ HOST: '127.0.0.1' });
  await waitForOrigin(program);
  await database.connection`update penalty_event_state set epoch = 'restored'`;
  await database.connection`notify changed, 'penalty_events'`;
  expect(await program.exited).toBe(1);
  expect(
    program
      .stdout()
      .split('\n')
      .filter((line) => line.includes('"level":"fatal"')),
  ).toEqual([
    expect.stringContaining('the database was replaced by a restored backup: start this process again'),
  ]);
});
