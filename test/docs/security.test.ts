import { expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { readPage } from '../support/docs/pages.ts';

test('SECURITY.md names a test for every claim, and each of them exists', () => {
  const [, claims = ''] = /^## What is protected[^\n]*\n([\s\S]*?)^## /m.exec(readPage('SECURITY.md')) ?? [];
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
  const named = [...readPage('CONTRIBUTING.md').matchAll(/`((?:src|api|bot|media|test|docs)\/[\w./-]+)`/g)];
  expect(named.length).toBeGreaterThan(10);
  const made = 'test/artifacts';
  expect(named.filter(([, path = '']) => path !== made && !existsSync(path)).map(([, path]) => path)).toEqual(
    [],
  );
});
