import { describe, expect, test } from 'bun:test';
import { parseConfig } from '../../src/runtime/config.ts';
import { POOL_GAUGES, SERVER_GAUGES } from '../../src/service/metrics.ts';
import { PAGES, readPage } from '../support/docs/pages.ts';

/** Every variable that the configuration reads. */
const settings = new Set<string>();
parseConfig(
  new Proxy<Record<string, string>>({}, { get: (_, name) => void settings.add(String(name)) as undefined }),
);

/** The names that a page explains, sorted. */
const namesIn = (page: string, pattern: RegExp) =>
  [...readPage(page).matchAll(pattern)].map(([, name, file = '']) => name ?? file).sort();

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
    [...readPage(page).matchAll(/community_api_([a-z_]+)/g)].map(([, name = '']) => name),
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
