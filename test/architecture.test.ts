import { expect, test } from 'bun:test';
import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';

/** Who may import whom, by folder. The composition roots see everything; nobody imports them but one another. */
const ROOTS = ['src/main.ts', 'src/service.ts', 'src/cli.ts', 'src/demo/main.ts', 'src/demo/demo.ts'];
const ROOT_FOLDERS = ['src/cli/'];
const HOMES: Record<string, string[]> = {
  elysia: ['api/'],
  '@elysiajs/': ['api/'],
  '@kitajs/html': ['api/'],
  '@fastify/busboy': ['api/account/upload-form.ts'],
  'discord.js': ['bot/'],
  '@discordjs/': ['bot/'],
  'fluent-ffmpeg': ['media/ffmpeg-native.ts'],
  postgres: ['src/db/client.ts'],
  mysql2: ['src/import/mysql-source.ts'],
  'bun:sqlite': ['src/import/sqlite-source.worker.ts', 'src/db/file-lock.ts'],
  'prom-client': ['src/metrics.ts'],
  '@ffmpeg/core': ['media/ffmpeg-embedded.worker.ts', 'media/ffmpeg-core.d.ts'],
  '@napi-rs/canvas': ['bot/charts/'],
  '@fontsource/inter': ['bot/charts/canvas.ts'],
  'swagger-ui-dist': ['api/openapi.ts'],
  'ipaddr.js': ['src/client-address.ts'],
  'drizzle-kit': ['src/db/drizzle.config.ts'],
  commander: ['src/cli.ts', 'src/cli/'],
};

type Import = { file: string; target: string; isInternal: boolean };

async function listImports(): Promise<Import[]> {
  const imports: Import[] = [];
  for (const file of new Glob('{src,api,bot,media}/**/*.{ts,tsx}').scanSync('.')) {
    const code = await Bun.file(file).text();
    for (const match of code.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)) {
      const specifier = match[1] ?? '';
      const isInternal = specifier.startsWith('.');
      imports.push({
        file,
        isInternal,
        target: isInternal ? normalize(join(dirname(file), specifier)) : specifier,
      });
    }
  }
  return imports;
}

const imports = await listImports();
const internal = imports.filter((one) => one.isInternal);
const isRoot = (file: string) =>
  ROOTS.includes(file) || ROOT_FOLDERS.some((folder) => file.startsWith(folder));
const show = ({ file, target }: Import) => `${file} imports ${target}`;

test('there are imports to judge', () => {
  expect(imports.length).toBeGreaterThan(100);
});

test('src knows neither HTTP, nor Discord, nor ffmpeg', () => {
  const wrong = internal.filter(
    ({ file, target }) => file.startsWith('src/') && !isRoot(file) && /^(api|bot|media)\//.test(target),
  );
  expect(wrong.map(show)).toEqual([]);
});

test('api, bot and media never import each other', () => {
  const wrong = internal.filter(({ file, target }) => {
    const [from] = file.split('/');
    return ['api', 'bot', 'media'].some(
      (folder) => from !== folder && /^(api|bot|media)$/.test(from ?? '') && target.startsWith(`${folder}/`),
    );
  });
  expect(wrong.map(show)).toEqual([]);
});

test('the domain imports only itself, and the composition roots are imported by nobody', () => {
  const domain = [
    'src/errors.ts',
    'src/fold-text.ts',
    'src/steam-id.ts',
    'src/penalty.ts',
    'src/rate-limiter.ts',
    'src/api-token.ts',
    'src/discord-id.ts',
    'src/visible-text.ts',
  ];
  const wrong = internal.filter(({ file, target }) => domain.includes(file) && !domain.includes(target));
  const upward = internal.filter(({ file, target }) => isRoot(target) && !isRoot(file));
  expect([...wrong, ...upward].map(show)).toEqual([]);
});

test('queries import only the domain and the database', () => {
  const wrong = internal.filter(
    ({ file, target }) =>
      file.startsWith('src/queries/') && !/^src\/(queries|db)\/|^src\/[a-z-]+\.ts$/.test(target),
  );
  expect(wrong.map(show)).toEqual([]);
});

test('each package has one home', () => {
  const wrong = imports.filter(({ file, target, isInternal }) => {
    if (isInternal) return false;
    const home = Object.entries(HOMES).find(
      ([name]) => target === name || target.startsWith(name.endsWith('/') ? name : `${name}/`),
    )?.[1];
    return home !== undefined && !home.some((place) => file.startsWith(place));
  });
  expect(wrong.map(show)).toEqual([]);
});

test('only the configuration reads the environment', async () => {
  const readers: string[] = [];
  for (const file of new Glob('{src,api,bot,media}/**/*.{ts,tsx}').scanSync('.')) {
    if (file === 'src/config.ts' || isRoot(file)) continue;
    if (/process\.env|Bun\.env/.test(await Bun.file(file).text())) readers.push(file);
  }
  expect(readers).toEqual([]);
});

test('there are no barrels: no file only hands on what others export', async () => {
  const barrels: string[] = [];
  for (const file of new Glob('{src,api,bot,media}/**/*.ts').scanSync('.')) {
    const code = await Bun.file(file).text();
    if (/^export \* from/m.test(code)) barrels.push(file);
  }
  expect(barrels).toEqual([]);
});
