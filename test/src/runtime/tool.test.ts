import { expect, test } from 'bun:test';
import { bunCommand } from '../../../src/runtime/tool.ts';

test('hints name npx where npm downloaded Bun for one call', () => {
  expect(bunCommand('/usr/local/bin/bun', '1.4.5')).toBe('bun');
  const downloaded = '/home/me/.npm/_npx/9ec17c29a94a501f/node_modules/bun/bin/bun.exe';
  expect(bunCommand(downloaded, '1.4.5')).toBe('npx --yes bun@1.4.5');
});
