import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isInstalled, isWell, nginxConfig, serve } from '../support/docs/deployment.ts';
import { startLoad } from '../support/http/steady-load.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { openApiProcesses } from '../support/service/api-processes.ts';
import { bearer } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';

/** Two that check the health of their backends and repeat no request; nginx checks nothing and repeats refused requests. */
const BALANCERS = ['haproxy', 'caddy', 'nginx'] as const;
type Balancer = (typeof BALANCERS)[number];

/** The settings of docs/scaling.md for two backends. */
function readSettings(backends: readonly number[]): Record<Balancer, string> {
  const blocks = [...readFileSync('docs/scaling.md', 'utf8').matchAll(/^```text\n([\s\S]*?)^```$/gm)].map(
    ([, text = '']) =>
      text.replace(/10\.0\.0\.([12]):3000/g, (_, number) => `127.0.0.1:${backends[number - 1]}`),
  );
  const [haproxy = '', caddy = ''] =
    blocks.find((text) => text.includes('# HAProxy'))?.split('# Caddy') ?? [];
  const nginx = blocks.find((text) => text.includes('upstream api')) ?? '';
  return { haproxy, caddy, nginx };
}

/** The settings of a balancer with what they need to run on this port, beside others of the machine. */
function completeSettings(
  name: Balancer,
  { port, backends, folder }: { port: number; backends: readonly number[]; folder: string },
): string {
  const settings = readSettings(backends)[name];
  if (name === 'caddy') return `{\n  admin off\n}\nhttp://127.0.0.1:${port} {\n${settings}\n}\n`;
  if (name === 'nginx')
    return nginxConfig(folder, settings.replace('server {', `server {\n listen 127.0.0.1:${port};`));
  return `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  retries 0
frontend web
  bind 127.0.0.1:${port}
  default_backend api
backend api
  balance roundrobin
${settings}
${backends.map((backend) => `  server s${backend} 127.0.0.1:${backend} check`).join('\n')}
`;
}

const COMMANDS: Record<Balancer, (file: string) => string[]> = {
  haproxy: (file) => ['haproxy', '-db', '-f', file],
  caddy: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  nginx: (file) => ['nginx', '-e', 'stderr', '-c', file],
};

/** Starts a balancer on loopback before services on these ports. @returns its origin. */
async function startBalancer(
  name: Balancer,
  { folder, backends }: { folder: string; backends: readonly number[] },
): Promise<string> {
  const port = findFreePort();
  const file = join(folder, `${name}.${name === 'caddy' ? 'Caddyfile' : 'cfg'}`);
  await writeFile(file, completeSettings(name, { port, backends, folder }));
  serve(COMMANDS[name](file), { HOME: folder });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(() => isWell(`${origin}/healthz`));
  return origin;
}

const { token, folder, startService } = await openApiProcesses();

/** Waits until the load balancer sends requests to the process. */
async function takesRequests(port: number): Promise<void> {
  const readMetrics = () => fetch(`http://127.0.0.1:${port}/metrics`).then((response) => response.text());
  await waitFor(async () => /route="list(Servers|Penalties)"/.test(await readMetrics()), { everyMs: 100 });
}

test.each(BALANCERS.filter(isInstalled))('a rolling restart behind %s loses no request', async (name) => {
  const ports = [findFreePort(), findFreePort()];
  const programs = await Promise.all(ports.map(startService));
  const origin = await startBalancer(name, { folder: folder, backends: ports });
  const load = startLoad(origin, {
    paths: ['/api/v1/servers', '/api/v1/penalties'],
    init: bearer(token),
    perSecond: 50,
  });
  await Promise.all(ports.map(takesRequests));
  for (const [index, port] of ports.entries()) {
    programs[index]?.kill('SIGTERM');
    await programs[index]?.exited;
    programs[index] = await startService(port);
    await takesRequests(port);
  }
  const responses = await load.stop();
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect(responses.length).toBeGreaterThan(200);
});
