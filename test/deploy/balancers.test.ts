import { expect, test } from 'bun:test';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isInstalled, isWell } from '../support/docs/deployment.ts';
import { startLoad } from '../support/http/steady-load.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { openApiProcesses } from '../support/service/api-processes.ts';
import { bearer } from '../support/service/service.ts';
import { waitFor } from '../support/wait.ts';

/** Two that check the health of their backends and repeat no request; nginx checks nothing and repeats refused requests. */
const BALANCERS = ['haproxy', 'caddy', 'nginx'] as const;
type Balancer = (typeof BALANCERS)[number];

/**
 * Caddy's `round_robin` counts for all requests together: two at once may both be given the process that is down, and with
 * nothing repeated one of them gets 503. HAProxy's has no such race.
 */
const CONFIGS: Record<Balancer, (port: number, backends: readonly number[], folder: string) => string> = {
  haproxy: (port, backends) => `
defaults
  mode http
  timeout connect 5s
  timeout client 30s
  timeout server 30s
  timeout check 5s
  retries 0
frontend web
  bind 127.0.0.1:${port}
  default_backend api
backend api
  balance roundrobin
  option httpchk
  http-check send meth GET uri /readyz ver HTTP/1.1 hdr Host health
  http-check expect status 200
  default-server inter 500ms fall 1 rise 1
${backends.map((backend) => `  server s${backend} 127.0.0.1:${backend} check`).join('\n')}
`,
  caddy: (port, backends) => `
{
  admin off
}
http://127.0.0.1:${port} {
  reverse_proxy ${backends.map((backend) => `127.0.0.1:${backend}`).join(' ')} {
    lb_policy least_conn
    lb_try_duration 0
    health_uri /readyz
    health_interval 500ms
    health_timeout 5s
  }
}
`,
  // As docs/scaling.md has it; the rest is what it needs to run beside another nginx.
  nginx: (port, backends, folder) => `
daemon off;
master_process off;
pid ${folder}/nginx.pid;
error_log stderr crit;
events {}
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `  ${kind}_temp_path ${folder}/nginx-${kind};`).join('\n')}
  upstream api {
${backends.map((backend) => `    server 127.0.0.1:${backend} max_fails=1 fail_timeout=2s;`).join('\n')}
    keepalive 32;
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://api;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_connect_timeout 1s;
    }
  }
}
`,
};

const COMMANDS: Record<Balancer, (file: string) => string[]> = {
  haproxy: (file) => ['haproxy', '-db', '-f', file],
  caddy: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  nginx: (file) => ['nginx', '-e', 'stderr', '-c', file],
};

/** Starts a balancer on loopback before services on these ports. */
async function startBalancer(
  name: Balancer,
  { folder, backends }: { folder: string; backends: readonly number[] },
): Promise<{ origin: string; stop: () => Promise<unknown> }> {
  const port = findFreePort();
  const file = join(folder, `${name}.${name === 'caddy' ? 'Caddyfile' : 'cfg'}`);
  await writeFile(file, CONFIGS[name](port, backends, folder));
  const balancer = Bun.spawn(COMMANDS[name](file), {
    env: { PATH: process.env.PATH, HOME: folder },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  const origin = `http://127.0.0.1:${port}`;
  await waitFor(() => isWell(`${origin}/healthz`));
  return {
    origin,
    stop: () => {
      balancer.kill('SIGKILL');
      return balancer.exited;
    },
  };
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
  const balancer = await startBalancer(name, { folder: folder.path, backends: ports });
  const load = startLoad(balancer.origin, {
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
  await balancer.stop();
  expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
  expect(responses.length).toBeGreaterThan(200);
});
