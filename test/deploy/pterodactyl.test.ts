import { expect, test } from 'bun:test';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { atEnd } from '../support/cleanup.ts';
import { DEPLOY } from '../support/docs/deployment.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { createTestFolder } from '../support/service/program.ts';
import { waitForProcess } from '../support/wait.ts';

/** An ordinary user, whose home folder does not exist. */
const NOBODY = '65534';

type Egg = {
  startup: string;
  config: { startup: string };
  variables: { env_variable: string; default_value: string }[];
};
const egg: Egg = await Bun.file(`${DEPLOY}/pterodactyl.json`).json();
const defaults = Object.fromEntries(egg.variables.map((each) => [each.env_variable, each.default_value]));

test('the egg names the version of Bun that package.json pins', () => {
  expect(`bun@${defaults.BUN_VERSION}`).toBe(packageJson.packageManager);
});

test('the start command of the egg runs the service with Node.js alone, in its own folder, until SIGINT', async () => {
  const folder = createTestFolder();
  const files = (await Bun.$`git ls-files`.text()).trim().split('\n');
  await Bun.$`cp --parents ${files} ${folder} && chown -R ${NOBODY}:${NOBODY} ${folder}`;
  const port = String(findFreePort());
  const env = {
    ...defaults,
    SERVER_PORT: port,
    TOOL_COMMAND: 'servers add --name Mirage --address 203.0.113.5:27015',
  };
  // As the panel's image does it.
  const command = egg.startup.replaceAll('{{', '${').replaceAll('}}', '}');
  const user = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];
  const service = Bun.spawn([...user, 'bash', '-c', command], {
    cwd: folder,
    // The certificates are those of the machine, as in a panel's image.
    env: {
      PATH: process.env.PATH,
      NODE_EXTRA_CA_CERTS: process.env.NODE_EXTRA_CA_CERTS,
      HOME: '/nonexistent',
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  atEnd(() => service.kill('SIGKILL'));
  let output = '';
  const read = async (stream: ReadableStream<Uint8Array>) => {
    for await (const bytes of stream) output += Buffer.from(bytes).toString();
  };
  const isRead = Promise.all([read(service.stdout), read(service.stderr)]);
  const { done } = JSON.parse(egg.config.startup) as { done: string };
  await waitForProcess(() => output.includes(done) || service.exitCode !== null, {
    what: 'the service starts',
  });
  expect(output).toContain('Added mirage (203.0.113.5:27015)');
  const servers = await fetch(`http://127.0.0.1:${port}/api/v1/servers`);
  expect(await servers.json()).toMatchObject({ data: [{ slug: 'mirage' }] });
  service.kill('SIGINT');
  expect(await service.exited).toBe(0);
  await isRead;
  expect(await Bun.file(join(folder, 'data/postgres/postmaster.pid')).exists()).toBe(false);
});
