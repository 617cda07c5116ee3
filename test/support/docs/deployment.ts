import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { atEnd } from '../cleanup.ts';
import { SYSTEM_BIN, startFilledPostgres, startSystemPostgres } from '../database/system-postgres.ts';
import { findFreePort } from '../machine/free-port.ts';
import { waitFor } from '../wait.ts';

export const DEPLOY = 'docs/deploy';

type ComposeService = {
  image: string;
  build?: string;
  environment?: Record<string, string>;
  volumes?: string[];
  env_file?: string;
};
export type Compose = { services: Record<string, ComposeService>; volumes: Record<string, unknown> };

export async function readCompose(path = 'compose.scale.yaml'): Promise<Compose> {
  return Bun.YAML.parse(await Bun.file(path).text()) as Compose;
}

/** The PromQL of every panel of the dashboard. */
export async function listDashboardQueries(): Promise<string[]> {
  const dashboard = await Bun.file(`${DEPLOY}/grafana/dashboard.json`).json();
  const panels = dashboard.panels as { targets?: { expr: string }[] }[];
  return panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
}

/** Whether a program is installed; if not, its tests are skipped with a message, and fail in CI. */
export function isInstalled(name: string): boolean {
  if (Bun.which(name)) return true;
  if (process.env.CI) throw new Error(`${name} is missing: .ci/run installs it`);
  console.warn(`NOT RUN: what needs ${name}, which is not installed`);
  return false;
}

/** A file for nginx with these servers, and what it needs to run beside another nginx. */
export function nginxConfig(folder: string, servers: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  const temporary = kinds.map((kind) => `${kind}_temp_path ${folder}/nginx-${kind};`).join(' ');
  return `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit; events {}
http { access_log off; ${temporary}\n${servers} }\n`;
}

/** Runs a program to its end. */
export async function run(command: string[], env: Record<string, string> = {}) {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
  return { code: await child.exited, output: `${stdout}${stderr}` };
}

/** Starts a program that serves until the end of the test file. */
export function serve(command: string[], env: Record<string, string> = {}): void {
  const child = Bun.spawn(command, {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  atEnd(() => {
    child.kill('SIGKILL');
    return child.exited;
  });
}

/** Whether an address responds with success. */
export function isWell(url: string): Promise<boolean> {
  return fetch(url).then(
    ({ ok }) => ok,
    () => false,
  );
}

/** A primary and its streaming replica, made by the scripts of the deployment; stopped after the file's tests. */
export async function startDeployedPostgres(folder: string) {
  const { primary, copyPrimary } = await startDeployedPrimary(folder);
  const replica = await startFilledPostgres(primary.password, async (dir) => {
    const { code, output } = await copyPrimary(dir);
    if (code !== 0) throw new Error(`replica.sh ended with ${code}: ${output}`);
  });
  return { primary, replica };
}

/** A primary made by the deployment's script, and what makes the data of its replica in an empty folder. */
export async function startDeployedPrimary(folder: string) {
  const primary = await startSystemPostgres();
  const { hostname, port } = new URL(primary.url);
  const env = {
    PATH: `${folder}:${SYSTEM_BIN}:${process.env.PATH}`,
    POSTGRES_USER: 'postgres',
    POSTGRES_DB: 'postgres',
    REPLICATION_PASSWORD: "it's secret",
  };
  const runScript = (name: string, more: Record<string, string>) =>
    run(['bash', `${DEPLOY}/postgres/${name}`, 'postgres'], { ...env, ...more });
  const { code, output } = await runScript('primary.sh', {
    PGHOST: hostname,
    PGPORT: port,
    PGPASSWORD: primary.password,
    PGDATA: primary.dir,
  });
  if (code !== 0) throw new Error(`primary.sh ended with ${code}: ${output}`);
  // The image's entry point gives the files to the server's account; the test starts the server itself.
  const entrypoint = join(folder, 'docker-entrypoint.sh');
  await writeFile(
    entrypoint,
    '#!/bin/bash\nif [ "$(id -u)" = 0 ]; then chown -R --reference="$OWNED_LIKE" "$PGDATA"; fi\n',
  );
  await chmod(entrypoint, 0o755);
  const copyPrimary = (dir: string) =>
    runScript('replica.sh', {
      PGDATA: dir,
      PRIMARY_HOST: hostname,
      PRIMARY_PORT: port,
      OWNED_LIKE: primary.dir,
    });
  return { primary, copyPrimary };
}

/** Caddy with the deployment's Caddyfile before these ports, until the end of the test file. */
export async function startDeployedCaddy({ folder, backends }: { folder: string; backends: number[] }) {
  const origin = `http://127.0.0.1:${findFreePort()}`;
  const env = {
    HOME: folder,
    SITE_ADDRESS: origin,
    BACKENDS: backends.map((port) => `127.0.0.1:${port}`).join(' '),
  };
  const adapt = ['caddy', 'adapt', '--adapter', 'caddyfile', '--config', `${DEPLOY}/Caddyfile`];
  const adapted = Bun.spawn(adapt, { env: { PATH: process.env.PATH, ...env }, stderr: 'ignore' });
  // Its administration listens on a fixed port, which another Caddy of this machine may have.
  const config = { ...JSON.parse(await adapted.stdout.text()), admin: { disabled: true } };
  const file = join(folder, 'caddy.json');
  await writeFile(file, JSON.stringify(config));
  serve(['caddy', 'run', '--config', file], env);
  await waitFor(() => isWell(`${origin}/readyz`));
  return { origin };
}
