import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { NoOperationTraceWriter, parseWorkflow } from '@actions/workflow-parser';
import { Glob } from 'bun';
import { DEPLOY, readCompose } from '../support/docs/deployment.ts';

const { services, volumes } = await readCompose();
const settings = new Set(
  [...(await Bun.file('.env.example').text()).matchAll(/^([A-Z][A-Z0-9_]+)=/gm)].map(([, name]) => name),
);
const ours = Object.values(services).filter(({ image }) => image === 'community-api');
/** What the layout asks for in `.env` beside the settings of the service. */
const OF_THE_LAYOUT = ['POSTGRES_PASSWORD', 'REPLICATION_PASSWORD', 'SITE_ADDRESS'];

test('compose.scale.yaml has two API processes, a worker, and what they need', () => {
  expect(Object.keys(services)).toEqual([
    'api1',
    'api2',
    'worker',
    'caddy',
    'postgres',
    'replica',
    'valkey',
    'prometheus',
  ]);
  const roles = ours.flatMap(({ environment }) => environment?.ROLES?.split(',') ?? []);
  expect(roles.sort()).toEqual(['api', 'api', 'bot', 'media', 'poller', 'sync']);
});

test('the settings come from .env, and one service builds the image', async () => {
  for (const path of ['compose.yaml', 'compose.scale.yaml']) {
    const all = Object.values((await readCompose(path)).services);
    const files = all.flatMap(({ env_file }) => env_file ?? []);
    expect(new Set(files)).toEqual(new Set(['.env']));
    expect(all.filter(({ build }) => build !== undefined)).toHaveLength(1);
  }
});

test.each(['compose.yaml', 'compose.scale.yaml'])(
  '%s runs the service without capabilities, on a read-only file system, with a memory limit and rotated logs',
  async (path) => {
    const all = Object.values((await readCompose(path)).services);
    const services = all.filter(({ env_file }) => env_file !== undefined);
    expect(services.length).toBeGreaterThan(0);
    for (const service of services)
      expect(service).toMatchObject({
        init: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        read_only: true,
        tmpfs: ['/tmp'],
        mem_limit: '1g',
      });
    for (const service of all) expect(service).toMatchObject({ logging: { options: { 'max-size': '10m' } } });
  },
);

test('compose.scale.yaml names settings, files and volumes that exist', async () => {
  const given = ours.flatMap(({ environment }) => Object.keys(environment ?? {}));
  expect(given.filter((name) => !settings.has(name))).toEqual([]);
  const text = await Bun.file('compose.scale.yaml').text();
  const substituted = [...text.matchAll(/\$\{([A-Z_]+)/g)].map(([, name = '']) => name);
  expect(substituted.filter((name) => !settings.has(name) && !OF_THE_LAYOUT.includes(name))).toEqual([]);
  for (const name of OF_THE_LAYOUT) expect(text.split('\n')[1]).toContain(name);
  const mounted = Object.values(services).flatMap((service) => service.volumes ?? []);
  const sources = mounted.map((volume) => volume.split(':')[0] ?? '');
  expect(sources.length).toBeGreaterThan(8);
  expect(
    sources.filter((source) => !(source.startsWith('./') ? existsSync(source) : source in volumes)),
  ).toEqual([]);
});

test.each(['community-api@', 'community-api-backup'])('the unit %s has only known settings', async (name) => {
  const unit = await Bun.file(`${DEPLOY}/systemd/${name}.service`).text();
  const given = [...unit.matchAll(/^Environment=(.*)$/gm)].flatMap(([, line = '']) => line.split(' '));
  const names = given.map((assignment) => assignment.split('=')[0] ?? '');
  expect(names.filter((name) => !settings.has(name))).toEqual(['NODE_ENV']);
});

test('Prometheus scrapes the processes of the layout', async () => {
  const path = `${DEPLOY}/prometheus/prometheus.yml`;
  const { scrape_configs: jobs } = Bun.YAML.parse(await Bun.file(path).text()) as {
    scrape_configs: { static_configs: { targets: string[] }[] }[];
  };
  const targets = jobs.flatMap((job) => job.static_configs.flatMap((config) => config.targets));
  expect(targets).toEqual(['api1:3000', 'api2:3000', 'worker:3001']);
  expect(services.prometheus?.volumes?.[0]).toBe(`./${DEPLOY}/prometheus:/etc/prometheus:ro`);
});

test('every alert has a test that it fires and one that it does not', async () => {
  const alerts = await Bun.file(`${DEPLOY}/prometheus/alerts.yml`).text();
  const tests = await Bun.file(`${DEPLOY}/prometheus/alerts.test.yml`).text();
  const names = [...alerts.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
  expect(names.length).toBeGreaterThan(10);
  for (const name of names) expect(tests.split(`alertname: ${name}`).length).toBeGreaterThan(2);
});

const workflows = [...new Glob('.github/workflows/*.yml').scanSync({ dot: true })];

test.each(workflows)('%s is a valid workflow', async (name) => {
  const content = await Bun.file(name).text();
  const { context } = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  expect(context.errors.getErrors().map(({ message }) => message)).toEqual([]);
});

test('a release publishes nothing before all tests have passed', async () => {
  const { jobs } = Bun.YAML.parse(await Bun.file('.github/workflows/release.yml').text()) as {
    jobs: Record<string, { needs?: string; uses?: string }>;
  };
  expect(jobs.test?.uses).toBe('./.github/workflows/ci.yml');
  const others = Object.entries(jobs).filter(([name]) => name !== 'test');
  expect(others.filter(([, { needs }]) => needs !== 'test')).toEqual([]);
});

test.each(workflows)('%s pins its actions by commit', async (path) => {
  const actions = [...(await Bun.file(path).text()).matchAll(/uses: (?!\.\/)(.+)/g)].map(
    ([, action]) => action,
  );
  expect(actions).not.toBeEmpty();
  for (const action of actions) expect(action).toMatch(/@[0-9a-f]{40} # v[0-9.]+$/);
});

describe('what operators keep in this folder', async () => {
  const pages = ['README.md', ...new Glob('docs/*.md').scanSync('.')];
  const texts = await Promise.all(pages.map((page) => Bun.file(page).text()));
  const written = texts.flatMap((text) =>
    [...text.matchAll(/(?<=[\s`])[\w-][\w.-]*\.(?:tar\.gz|ndjson|sql)\b(?=[\s`])/g)].map(([name]) => name),
  );
  const names = [
    ...new Set(written),
    'backup.tar.gz.0a1b2c3d.partial',
    'export.ndjson',
    'dump.sql',
    '.env',
    '.env.bak',
    'data/postgres.password',
    'storage/roundsound',
  ];
  const lines = (await Bun.file('.dockerignore').text()).split('\n').filter((line) => /^[^#]/.test(line));
  const isInImage = (path: string) => !lines.some((line) => new Glob(`{${line},${line}/**}`).match(path));

  test('backups, exports and secrets in this folder are neither in the image nor in git', async () => {
    expect(written.length).toBeGreaterThan(3);
    expect(names.filter(isInImage)).toEqual([]);
    const ignored = await Bun.$`git check-ignore --no-index ${names}`.nothrow().text();
    expect(ignored.trim().split('\n').toSorted()).toEqual(names.toSorted());
  });

  test('the program itself is in the image and in git', async () => {
    const files = [...new Glob('{src,api,bot,media}/**').scanSync('.')];
    expect(files.length).toBeGreaterThan(200);
    expect(
      [...files, 'LICENSE', 'docs/third-party.md', 'docs/licenses/GPL-2.0.txt'].filter(
        (path) => !isInImage(path),
      ),
    ).toEqual([]);
    expect((await Bun.$`git check-ignore --no-index ${files}`.nothrow().text()).trim()).toBe('');
  });
});

test('every production package has its licence in its folder or in docs/licenses', async () => {
  const page = await Bun.file('docs/third-party.md').text();
  const rows = page.split('\n').filter((line) => line.startsWith('| `'));
  const findText = (name: string) =>
    rows.find((row) => [...row.matchAll(/`([^`]+)`/g)].some(([, named = '']) => new Glob(named).match(name)));
  const names = await listProductionPackages();
  expect(names.length).toBeGreaterThan(50);
  const hasOwn = (name: string) =>
    readdirSync(`node_modules/${name}`).some((file) => /^(licen[cs]e|copying)/i.test(file));
  expect(names.filter((name) => !hasOwn(name) && findText(name) === undefined)).toEqual([]);
  const texts = [...page.matchAll(/\]\((licenses\/[^)]+)\)/g)].map(([, path = '']) => path);
  expect(texts.filter((path) => !existsSync(`docs/${path}`))).toEqual([]);
  expect(readdirSync('docs/licenses').filter((file) => !texts.includes(`licenses/${file}`))).toEqual([]);
});

/** The dependencies of package.json that are installed, and theirs. */
async function listProductionPackages(): Promise<string[]> {
  const found = new Set<string>();
  const visit = async (file: string): Promise<void> => {
    const { dependencies, optionalDependencies, peerDependencies } = await Bun.file(file).json();
    for (const name of Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies })) {
      const next = `node_modules/${name}/package.json`;
      if (found.has(name) || !existsSync(next)) continue;
      found.add(name);
      await visit(next);
    }
  };
  await visit('package.json');
  return [...found];
}
