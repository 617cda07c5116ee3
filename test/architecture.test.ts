import { expect, test } from 'bun:test';
import { dirname, join, normalize } from 'node:path';
import { Glob } from 'bun';
import { PAGE_TEXTS } from '../api/web/locales/texts.ts';
import { BOT_TEXTS } from '../bot/locales/localization.ts';
import packageJson from '../package.json';
import { LOCKS } from '../src/db/locks.ts';

/** The programs and the folders that put the parts together. They see everything; nobody imports them but one another. */
const COMPOSITION = [
  'src/main.ts',
  'src/cli.ts',
  'src/health-check.ts',
  'src/service/',
  'src/cli/',
  'src/demo/',
];
/** What each folder of src may import besides itself. The first matching folder is a file's own. */
const ALLOWED: [folder: string, ...allowed: string[]][] = [
  ['src/domain/'],
  ['src/runtime/', 'src/domain/'],
  ['src/db/', 'src/domain/', 'src/runtime/'],
  ['src/queries/', 'src/db/', 'src/domain/'],
  ['src/live/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/charts/', 'src/live/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/steam/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/events/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/poll/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/backup/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/', 'package.json'],
  ['src/import/source/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['src/import/', 'src/queries/', 'src/db/', 'src/domain/', 'src/runtime/'],
  ['api/http/', 'src/'],
  ['api/openapi/', 'api/http/', 'src/'],
  ['api/v1/', 'api/http/', 'api/openapi/', 'src/'],
  ['api/web/locales/', 'src/'],
  ['api/web/request/', 'api/web/locales/', 'api/http/query.ts', 'src/'],
  [
    'api/web/layout/',
    'api/web/locales/',
    'api/web/request/',
    'api/http/conditional.ts',
    'api/http/encoding.ts',
    'src/',
  ],
  ['api/web/', 'api/http/', 'src/'],
  ['api/', 'src/'],
  ['media/ffmpeg/', 'src/'],
  ['media/', 'src/'],
  ['bot/locales/', 'src/'],
  ['bot/embeds/', 'bot/locales/', 'src/'],
  ['bot/gateway/', 'bot/embeds/', 'bot/locales/', 'bot/context.ts', 'bot/timings.ts', 'src/'],
  ['bot/posting/', 'bot/gateway/', 'bot/embeds/', 'bot/locales/', 'bot/context.ts', 'src/'],
  ['bot/commands/', 'bot/posting/', 'bot/gateway/', 'bot/embeds/', 'bot/locales/', 'bot/context.ts', 'src/'],
  ['bot/', 'src/'],
];
const HOMES: Record<string, string[]> = {
  elysia: ['api/'],
  '@sinclair/typebox': ['src/backup/archive.ts'],
  '@elysiajs/': ['api/'],
  hono: ['api/web/', 'src/charts/'],
  negotiator: ['api/web/locales/locale.ts'],
  '@fastify/busboy': ['api/web/account/upload-form.ts'],
  'discord.js': ['bot/'],
  '@discordjs/': ['bot/'],
  'fluent-ffmpeg': ['media/ffmpeg/native.ts'],
  postgres: ['src/db/client.ts'],
  mysql2: ['src/import/source/mysql.ts'],
  'bun:sqlite': ['src/import/source/sqlite.worker.ts', 'src/db/embedded/data-folder.ts'],
  '@ffmpeg/core': ['media/ffmpeg/embedded.worker.ts', 'media/ffmpeg/ffmpeg-core.d.ts'],
  '@resvg/resvg-js': ['src/charts/raster.ts'],
  '@expo-google-fonts/inter': ['src/charts/raster.ts'],
  'swagger-ui-dist': ['api/web/guide/assets.ts'],
  'ipaddr.js': ['src/runtime/address.ts', 'api/http/client-address.ts'],
  standardwebhooks: ['src/events/webhooks/message.ts'],
  'drizzle-orm': ['src/db/', 'src/queries/', 'src/demo/community.ts'],
  commander: ['src/cli.ts', 'src/cli/'],
  bowser: ['api/web/request/session.ts'],
  dataloader: ['src/steam/bans.ts', 'src/poll/poller.ts'],
  'fastest-levenshtein': ['src/domain/text/misspelling.ts', 'api/http/near-misses.ts'],
  'lru-cache': ['src/runtime/stale-cache.ts', 'src/steam/', 'src/charts/', 'api/', 'bot/', 'media/'],
  pino: ['src/runtime/log.ts'],
};
/** Their types may be named anywhere. */
const TYPES_ANYWHERE = ['pino'];

type Import = { file: string; target: string; isInternal: boolean; isType: boolean };

/** The code of files, by path. */
async function readFiles(pattern: string): Promise<Map<string, string>> {
  const paths = [...new Glob(pattern).scanSync('.')].sort();
  return new Map(await Promise.all(paths.map(async (path) => [path, await Bun.file(path).text()] as const)));
}

const product = await readFiles('{src,api,bot,media}/**/*.{ts,tsx}');
const tests = await readFiles('test/**/*.{ts,tsx}');

function listImports(): Import[] {
  const imports: Import[] = [];
  for (const [file, code] of product) {
    for (const match of code.matchAll(/^(import type )?.*?(?:from|import)\s*\(?\s*'([^']+)'/gm)) {
      const specifier = match[2] ?? '';
      const isInternal = specifier.startsWith('.');
      imports.push({
        file,
        isInternal,
        isType: match[1] !== undefined,
        target: isInternal ? normalize(join(dirname(file), specifier)) : specifier,
      });
    }
  }
  return imports;
}

const imports = listImports();
const internal = imports.filter((one) => one.isInternal);
const isRoot = (file: string) => COMPOSITION.some((place) => file.startsWith(place));
const show = ({ file, target }: Import) => `${file} imports ${target}`;

test('every folder imports only what it may', () => {
  expect(imports.length).toBeGreaterThan(100);
  const wrong = internal.filter(({ file, target }) => {
    if (isRoot(file)) return false;
    const rule = ALLOWED.find(([folder]) => file.startsWith(folder));
    return rule === undefined || isRoot(target) || !rule.some((folder) => target.startsWith(folder));
  });
  expect(wrong.map(show)).toEqual([]);
});

test('no circle of files', () => {
  const targets = new Map<string, string[]>();
  for (const { file, target } of internal) targets.set(file, [...(targets.get(file) ?? []), target]);
  const done = new Set<string>();
  const circles: string[] = [];
  const visit = (file: string, path: string[]) => {
    const start = path.indexOf(file);
    if (start >= 0) circles.push([...path.slice(start), file].join(' → '));
    if (start >= 0 || done.has(file)) return;
    for (const target of targets.get(file) ?? []) visit(target, [...path, file]);
    done.add(file);
  };
  for (const file of targets.keys()) visit(file, []);
  expect(circles).toEqual([]);
});

test('each package has one home', () => {
  const wrong = imports.filter(({ file, target, isInternal, isType }) => {
    if (isInternal || (isType && TYPES_ANYWHERE.includes(target))) return false;
    const home = Object.entries(HOMES).find(
      ([name]) => target === name || target.startsWith(name.endsWith('/') ? name : `${name}/`),
    )?.[1];
    return home !== undefined && !home.some((place) => file.startsWith(place));
  });
  expect(wrong.map(show)).toEqual([]);
});

test('each dependency has a home', () => {
  const isAtHome = (name: string) =>
    Object.keys(HOMES).some((home) => name === home || (home.endsWith('/') && name.startsWith(home)));
  expect(Object.keys(packageJson.dependencies).filter((name) => !isAtHome(name))).toEqual([]);
});

/** Of Node, Bun and discord.js. */
const FOREIGN_NAMES = ['monitorEventLoopDelay', 'maxRSS', 'escapeMarkdown'];

test('comments name only what exists', () => {
  const COMMENT = /\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*$/gm;
  const words = new Set(FOREIGN_NAMES);
  const named: { file: string; name: string }[] = [];
  for (const [file, text] of [...product, ...tests]) {
    for (const [word] of text.replace(COMMENT, ' ').matchAll(/\w+/g)) words.add(word);
    for (const [comment] of text.matchAll(COMMENT)) {
      const names = comment.matchAll(/\{@link (?:\w+\.)*(\w+)\}|`([a-z]+[A-Z]\w*)(?:\(\))?`/g);
      for (const [, link, code] of names) named.push({ file, name: link ?? code ?? '' });
    }
  }
  expect(named.length).toBeGreaterThan(200);
  expect(named.filter(({ name }) => !words.has(name))).toEqual([]);
});

test.each([
  ['src/service/service.ts', /^(discord\.js|@discordjs\/)/],
  ['src/cli.ts', /^(discord\.js|@discordjs\/|elysia|@elysiajs\/)/],
])('%s starts without the large packages that few of its processes use', async (program, unused) => {
  const transpilers = {
    ts: new Bun.Transpiler({ loader: 'ts' }),
    tsx: new Bun.Transpiler({ loader: 'tsx' }),
  };
  const files = new Set([program]);
  const packages = new Map<string, string>();
  for (const file of files) {
    const transpiler = transpilers[file.endsWith('x') ? 'tsx' : 'ts'];
    for (const { path, kind } of transpiler.scanImports(await Bun.file(file).text())) {
      if (kind !== 'import-statement') continue;
      if (!path.startsWith('.')) packages.set(path, file);
      else if (/\.tsx?$/.test(path)) files.add(normalize(join(dirname(file), path)));
    }
  }
  expect(packages.has('postgres')).toBe(true);
  expect([...packages].filter(([name]) => unused.test(name))).toEqual([]);
});

/** Where the service's own database is queried; `src/queries/README.md` says why. */
const SQL_HOMES = ['src/queries/', 'src/db/', 'src/backup/', 'src/demo/community.ts'];
const LOCKS_TAKEN = ['src/import/import-run.ts', 'src/demo/demo.ts'];

test('SQL is written only in its folders', () => {
  const speakers: string[] = [];
  for (const [file, code] of product) {
    if (SQL_HOMES.some((home) => file.startsWith(home))) continue;
    const statements = [
      ...code.matchAll(/\b(?:sql|connection|session|transaction|tx)(?:<[^>]*>)?`[^`]*`|\.unsafe\(/g),
    ];
    const isForeign = ([text]: RegExpExecArray) =>
      !(LOCKS_TAKEN.includes(file) && /pg_(?:try_)?advisory_lock|pg_locks/.test(text));
    if (statements.some(isForeign)) speakers.push(file);
  }
  expect(speakers).toEqual([]);
});

/** Migrations are not among these files, and a restore writes every table alike. */
const WRITERS = [
  'src/queries/penalties/expiry.ts',
  'src/queries/penalties/imported.ts',
  'src/queries/personal-data/erasure.ts',
];

test('penalties are written by `writePenalties` alone, except when the demo creates its own', () => {
  const writers: string[] = [];
  for (const [file, code] of product) {
    const handles = [
      ...code.matchAll(/(\w+)\s*\.(?:insert|update|delete)\((?:penalties|table)\)/g),
      ...code.matchAll(
        /(\w+)(?:\.execute|\.unsafe)?\(?(?:sql)?`[^`]*\b(?:insert into|update|delete from|truncate|copy) penalties\b/g,
      ),
    ].map(([, handle]) => handle);
    if (handles.length === 0 || file === 'src/demo/community.ts') continue;
    writers.push(file);
    expect({ file, handles }).toEqual({ file, handles: handles.map(() => 'tx') });
    expect({ file, isLocked: code.includes('writePenalties(') }).toEqual({ file, isLocked: true });
  }
  expect(writers.sort()).toEqual(WRITERS);
});

test.each([
  [
    'nothing cancels a statement or reserves a connection, which the driver does wrongly',
    /(?<!reader)\.(cancel|reserve)\(/,
    [],
  ],
  [
    'nothing reads a cursor by a callback, which runs as part of whichever request the connection served before',
    /\.cursor\([^()]*,/,
    [],
  ],
  [
    'only the locks of the database say which number a lock has',
    /advisory_(xact_)?lock(_shared)?\((?!\$|hashtext\(\$)/,
    [],
  ],
  [
    'only queries write entries of the audit log, so that no caller can forget one',
    /recordAudit|insert\(auditLog\)/,
    ['src/queries/'],
  ],
  [
    'only the configuration reads the environment',
    /process\.env|Bun\.env/,
    ['src/runtime/config.ts', ...COMPOSITION],
  ],
  [
    'only the store of sounds knows where their files lie',
    /'(?:inbox|roundsound|roundsound-orphans)'/,
    ['media/sound-store.ts'],
  ],
  ['barrels do not exist: no file only re-exports', /^export \* from/m, []],
])('%s', (_, pattern, homes) => {
  const found = [...product].filter(([, code]) => pattern.test(code)).map(([file]) => file);
  expect(found.filter((file) => !homes.some((home) => file.startsWith(home)))).toEqual([]);
  expect(found.length > 0).toBe(homes.length > 0);
});

test('no two locks have the same number', () => {
  const numbers = Object.values(LOCKS);
  expect(new Set<number>(numbers).size).toBe(numbers.length);
});

test('programs hand the environment to the configuration and read nothing of it themselves', () => {
  const HANDED_ON = /(parseConfig|findMisreadLines|JSON\.stringify)\(process\.env\b(?!\.)/g;
  const readers = [...product].filter(
    ([file, code]) => isRoot(file) && /process\.env|Bun\.env/.test(code.replaceAll(HANDED_ON, '')),
  );
  expect(readers.map(([file]) => file)).toEqual([]);
});

/** Words that begin the second half of a sentence; a list of failures prints no first half. */
const FRAGMENT =
  /^(?:is|are|was|were|has|have|had|does|do|can|cannot|may|must|will|would|and|or|but|not|of|that|who|whose|which|by|with|without|for|from|in|on|at|to|as|if|when|while|until|unless|because|so|again|too)\b(?!-)/;

test('names of tests stand alone: each begins with its subject or with what the service does', () => {
  const fragments: string[] = [];
  let count = 0;
  for (const [file, code] of tests) {
    if (!file.endsWith('.test.ts')) continue;
    for (const [, name = ''] of code.matchAll(/\btest(?:\.\w+\b[\s\S]*?\))?\(\s*['"`]([^\n]+)/g)) {
      count++;
      if (FRAGMENT.test(name)) fragments.push(`${file}: ${name}`);
    }
  }
  expect(count).toBeGreaterThan(1000);
  expect(fragments).toEqual([]);
});

test('tests take sentences from the tables of texts, so that mending one touches its table alone', () => {
  const textsIn = (value: unknown): string[] => {
    if (typeof value === 'string') return / .* .*[.?]$/s.test(value) ? [value] : [];
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
  };
  const sentences = [...new Set([PAGE_TEXTS, BOT_TEXTS].flatMap(textsIn))];
  const quotes: string[] = [];
  for (const [file, code] of tests) {
    for (const text of sentences) if (code.includes(text)) quotes.push(`${file} quotes “${text}”`);
  }
  expect(sentences.length).toBeGreaterThan(300);
  expect(quotes).toEqual([]);
});
