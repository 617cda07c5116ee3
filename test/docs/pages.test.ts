import { expect, test } from 'bun:test';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import packageJson from '../../package.json';
import { listAnchors, PAGES, readPage, readProse } from '../support/docs/pages.ts';

type Link = { page: string; target: string };

const links: Link[] = PAGES.flatMap((page) => {
  const prose = readProse(page);
  const found = [...prose.matchAll(/\]\(([^)\s]+)\)/g), ...prose.matchAll(/(?:src|href)="([^"]+)"/g)];
  return found.map(([, target = '']) => ({ page, target }));
});

test('the README has at most 120 lines', () => {
  expect(readPage('README.md').trimEnd().split('\n').length).toBeLessThanOrEqual(120);
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
  const [, section = ''] = /^## Dependencies\n([\s\S]*?)^## /m.exec(readPage('CONTRIBUTING.md')) ?? [];
  const named = [...section.matchAll(/^\| `([^`]+)`/gm)].map(([, name]) => name);
  expect(named).toEqual(Object.keys(packageJson.dependencies));
});

test('versions of packages are exact', () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
  const loose = versions.filter(([, version]) => !/^(npm:\S+@)?\d+\.\d+\.\d+(-[\w.]+)?$/.test(version));
  expect(loose).toEqual([]);
});

test('the tree of the README names the folders that there are', () => {
  const [tree = ''] = /^```\nsrc\/[\s\S]*?^```$/m.exec(readPage('README.md')) ?? [];
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

function resolves({ page, target }: Link): boolean {
  const [file = '', anchor] = target.split('#');
  const path = file === '' ? page : join(page, '..', file);
  if (!existsSync(path)) return false;
  return anchor === undefined || listAnchors(path).includes(anchor);
}
