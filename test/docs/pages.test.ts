import { describe, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from 'commander';
import packageJson from '../../package.json';
import { createProgram } from '../../src/cli/run.ts';
import { parseConfig } from '../../src/runtime/config.ts';
import { POOL_GAUGES, SERVER_GAUGES } from '../../src/service/metrics.ts';

/** Every page a reader may open: those of the root and of `docs/`, by their path from the root. */
const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

type Link = { page: string; target: string };

const links: Link[] = PAGES.flatMap((page) => {
  const prose = readProse(page);
  const found = [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/(?:src|href)="([^"]+)"/g)];
  return found.map(([, target = '']) => ({ page, target }));
});

test('the README has at most 120 lines', () => {
  expect(readFileSync('README.md', 'utf8').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
});

test('every link between pages leads to a file, and to a heading of it', () => {
  const local = links.filter(({ target }) => !/^[a-z]+:/.test(target));
  expect(local.length).toBeGreaterThan(20);
  expect(local.filter((link) => !resolves(link))).toEqual([]);
});

test('the README leads to every page of docs/', () => {
  const reached = links.filter(({ page }) => page === 'README.md').map(({ target }) => target.split('#')[0]);
  expect(PAGES.filter((page) => page.startsWith('docs/') && !reached.includes(page))).toEqual([]);
});

test('CONTRIBUTING says of each dependency what it is for', () => {
  const [, section = ''] =
    /^## Dependencies\n([\s\S]*?)^## /m.exec(readFileSync('CONTRIBUTING.md', 'utf8')) ?? [];
  const named = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
  expect(named).toEqual(Object.keys(packageJson.dependencies));
});

test('the version is one of the changelog, or that of an unreleased tree, in the image too', async () => {
  const { version } = await Bun.file('package.json').json();
  const [first = ''] = /(?<=^## ).*/m.exec(await Bun.file('CHANGELOG.md').text()) ?? [];
  if (first === 'Unreleased') expect(version).toEndWith('-dev');
  else expect(first).toStartWith(version);
  expect(await Bun.file('Dockerfile').text()).toContain(`ARG VERSION=${version}\n`);
});

test('versions of packages are exact', () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const loose = versions.filter(([, version]) => !/^(npm:\S+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  expect(loose).toEqual([]);
});

test('the tree of the README names the folders that there are', () => {
  const [tree = ''] = /^```\nsrc\/[\s\S]*?^```$/m.exec(readFileSync('README.md', 'utf8')) ?? [];
  let top = '';
  const folders = tree.split('\n').flatMap((line) => {
    top = /^[a-z]+\//.exec(line)?.[0] ?? top;
    const inner = [...line.matchAll(/(?<=\s)[a-z0-9-]+\/(?=[\s,;)]|$)/g)].map(([name]) => name);
    return line.startsWith('```')
      ? []
      : [top, ...inner.map((name) => (line.startsWith(name) ? name : top + name))];
  });
  expect(folders.length).toBeGreaterThan(15);
  expect(folders.filter((folder) => !existsSync(folder))).toEqual([]);
  const present = ['src', 'api', 'bot', 'media'].flatMap((name) =>
    readdirSync(name, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => `${name}/${entry.name}/`),
  );
  expect(present.filter((folder) => !folders.includes(folder))).toEqual([]);
});

test('a picture of the README is small', async () => {
  const pictures = links.filter(({ target }) => target.startsWith('docs/images/'));
  for (const { target } of pictures) expect(Bun.file(target).size).toBeLessThanOrEqual(60 * 1024);
});

test('SECURITY.md names a test for every claim, and each of them exists', () => {
  const [, claims = ''] =
    /^## What is protected[^\n]*\n([\s\S]*?)^## /m.exec(readFileSync('SECURITY.md', 'utf8')) ?? [];
  const bullets = claims.split(/^- /m).slice(1);
  expect(bullets.length).toBeGreaterThan(20);
  for (const bullet of bullets) {
    const named = [...bullet.matchAll(/\]\((test\/[^)]+\.test\.ts)\)/g)].map(([, path = '']) => path);
    expect({ bullet, isTested: named.length > 0 && named.every((path) => existsSync(path)) }).toEqual({
      bullet,
      isTested: true,
    });
  }
});

test('every path that CONTRIBUTING.md names exists', () => {
  const named = [
    ...readFileSync('CONTRIBUTING.md', 'utf8').matchAll(/`((?:src|api|bot|media|test|docs)\/[\w./-]+)`/g),
  ];
  expect(named.length).toBeGreaterThan(10);
  const made = 'test/artifacts';
  expect(named.filter(([, path = '']) => path !== made && !existsSync(path)).map(([, path]) => path)).toEqual(
    [],
  );
});

/** Every variable that the configuration reads. */
const settings = new Set<string>();
parseConfig(
  new Proxy<Record<string, string>>({}, { get: (_, name) => void settings.add(String(name)) as undefined }),
);

/** The names that a page explains, sorted. */
const namesIn = (page: string, pattern: RegExp) =>
  [...readFileSync(page, 'utf8').matchAll(pattern)].map(([, name, file = '']) => name ?? file).sort();

test('docs/operating.md explains every setting once, and no other', () => {
  const explained = namesIn('docs/operating.md', /^\| `([A-Z][A-Z0-9_]+)` +\| \S|`([A-Z0-9_]+_FILE)`/gm);
  expect(explained).toEqual([...settings].sort());
});

test('.env.example lists every setting, and no other', () => {
  const listed = namesIn('.env.example', /^#? ?([A-Z][A-Z0-9_]+)=/gm);
  expect([...new Set(listed)]).toEqual([...settings].sort());
});

describe('the metrics', async () => {
  const sources = new Bun.Glob('{src,api,bot,media}/**/*.{ts,tsx}');
  const code = await Promise.all([...sources.scanSync()].map((path) => Bun.file(path).text()));
  const metricsInCode = code.flatMap((text) =>
    [...text.matchAll(/add(?:Gauges?|Counter|Histogram)\(\s*['`]([a-z_]+)(['$])/g)].map(
      // A name with a placeholder: only its beginning is known.
      ([, name = '', end]) => ({ name, isWhole: end !== '$' }),
    ),
  );
  const metrics = [
    ...metricsInCode,
    ...[...POOL_GAUGES, ...SERVER_GAUGES].map(([name]) => ({ name: String(name), isWhole: true })),
  ];
  const documentedNames = PAGES.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/community_api_([a-z_]+)/g)].map(([, name = '']) => name),
  );
  const isSame = (metric: (typeof metrics)[number], name: string) =>
    metric.isWhole ? metric.name === name : name.startsWith(metric.name);

  test('the metrics that a page names exist', () => {
    expect(documentedNames.length).toBeGreaterThan(10);
    expect(documentedNames.filter((name) => !metrics.some((metric) => isSame(metric, name)))).toEqual([]);
  });

  test('operating.md explains every metric', () => {
    expect(metrics.length).toBeGreaterThan(10);
    expect(metrics.filter((metric) => !documentedNames.some((name) => isSame(metric, name)))).toEqual([]);
  });
});

/** No command runs here. */
const output = { isTerminal: false, print: () => {}, warn: () => {}, progress: { write: () => {} } };
const configure = () => {
  throw new Error('nothing here reads the configuration');
};
const written = PAGES.flatMap((page) =>
  [...readFileSync(page, 'utf8').matchAll(/^ *bun run cli (.*)$/gm)].map(([, command = '']) => command),
);

test('each command of the pages stands on a separate line, which a shell reads as that command', () => {
  expect(written.length).toBeGreaterThan(15);
  expect(written.filter((command) => /[|;&`$()]/.test(command))).toEqual([]);
});

test("the pages name every command of the operator's tool, and no other", () => {
  const commands = listCommands(createProgram({ configure, output }).program);
  const isUsed = (command: string, line: string) => `${line} `.startsWith(`${command} `);
  expect(commands.filter((command) => !written.some((line) => isUsed(command, line)))).toEqual([]);
  expect(written.filter((line) => !commands.some((command) => isUsed(command, line)))).toEqual([]);
});

function resolves({ page, target }: Link): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? page : join(page, '..', file);
  if (!existsSync(path)) return false;
  return anchor === undefined || listAnchors(path).includes(anchor);
}

/** Every command that does something, such as `servers add`. */
function listCommands({ commands }: Command, group: readonly string[] = []): string[] {
  if (commands.length === 0) return [group.join(' ')];
  return commands.flatMap((command) => listCommands(command, [...group, command.name()]));
}

/** Lines of a page that are prose or tables: without what stands in code blocks. */
function readProse(path: string): string {
  return readFileSync(path, 'utf8').replace(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** The anchors that GitHub gives to the headings of a page. */
function listAnchors(path: string): string[] {
  return [...readProse(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
