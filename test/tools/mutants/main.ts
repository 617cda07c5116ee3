import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openTestServer } from '../../support/database/test-server.ts';
import { type Fault, listFaults } from './faults.ts';
import { listFastTests, measureReach } from './reach.ts';

/**
 * Plants small faults in a clone of the last commit, one after another, and prints which test notices each. The tests
 * that are nearest to the fault run first; if they pass, the compiler and the whole fast half check it.
 */
const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '10' },
    seed: { type: 'string', default: '1' },
    in: { type: 'string', default: 'src,api,bot,media' },
    from: { type: 'string', default: '1' },
    help: { type: 'boolean', default: false },
  },
});
if (values.help) {
  console.log('bun run mutants [--count N] [--seed S] [--in FOLDER,…] [--from PLACE_IN_THE_TABLE]');
  process.exit(0);
}

const ROOT = join(import.meta.dir, '../../..');
/** Translations, the demo, assets and declarations get no faults. */
const LEFT_OUT = /\/locales\/|^src\/demo\/|\/assets\/|\.d\.ts$/;
/** A run that takes this many times as long as its files usually take counts as a failure. */
const SLOWER = 3;
/** Added to that limit for the start of a run. */
const START_MS = 20_000;
/** A single test that takes longer has failed; the slowest one takes a quarter of it. */
const TEST_LIMIT_MS = 60_000;
/** How many test files run together: few at first, as the nearest ones notice most. */
const BATCHES = [1, 4, 12, 40, 400];

const copy = await mkdtemp(join(tmpdir(), 'community-api-mutants-'));
const server = await openTestServer();
let running: Bun.Subprocess | undefined;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => end(1));

async function end(code: number): Promise<never> {
  if (running) stop(running);
  await server.stop();
  await rm(copy, { recursive: true, force: true });
  process.exit(code);
}

/** Ends a run with everything that its tests started. */
function stop({ pid }: Bun.Subprocess): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // It ended by itself.
  }
}

/** Runs a command in the copy and resolves to its output, or to undefined if it succeeded. */
async function findFailure(command: string[], timeoutMs: number): Promise<string | undefined> {
  const run = Bun.spawn(command, {
    cwd: copy,
    env: { ...process.env, TEST_POSTGRES_URL: server.url },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  running = run;
  const timer = setTimeout(() => stop(run), timeoutMs);
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  const code = await run.exited;
  clearTimeout(timer);
  stop(run);
  running = undefined;
  return code === 0 ? undefined : `${out}\n${err}`;
}

const bunTest = (files: string[], ...options: string[]) => [
  process.execPath,
  'test',
  `--parallel=${Math.min(files.length, 2 * availableParallelism())}`,
  `--timeout=${TEST_LIMIT_MS}`,
  '--bail=1',
  ...options,
  ...files.map((file) => `./${file}`),
];

/** What each test file takes, in milliseconds, from one run of all of them on the unchanged code, kept for its commit. */
async function measureTimes(tests: string[]): Promise<Map<string, number>> {
  const commit = (await Bun.$`git -C ${copy} rev-parse HEAD`.text()).trim();
  const kept = Bun.file(join(ROOT, `node_modules/.cache/test-times/${commit}.json`));
  if (await kept.exists()) return new Map(await kept.json());
  const report = join(copy, 'report.xml');
  const failure = await findFailure(
    bunTest(tests, '--reporter=junit', `--reporter-outfile=${report}`),
    30 * 60_000,
  );
  if (failure !== undefined) {
    console.error(`The fast half fails without any fault:\n${failure.slice(-2000)}`);
    await end(1);
  }
  const times = new Map<string, number>();
  for (const [, seconds, file] of (await Bun.file(report).text()).matchAll(
    /<testcase .* time="(.*?)" file="(.*?)"/g,
  )) {
    times.set(file ?? '', (times.get(file ?? '') ?? 0) + Number(seconds) * 1000);
  }
  await Bun.write(kept, JSON.stringify([...times]));
  return times;
}

/** Chooses faults by the seed, spread over the lines of all files. */
async function chooseFaults(
  count: number,
  seed: string,
): Promise<{ path: string; code: string; fault: Fault }[]> {
  const random = (of: number) => Number(Bun.hash(`${seed}/${of}`) % 1_000_003n) / 1_000_003;
  const folders = values.in.split(',').map((folder) => folder.replace(/\/$/, ''));
  const places: { line: number; path: string; code: string; fault: Fault }[] = [];
  let lines = 0;
  const paths = (await Bun.$`git -C ${copy} ls-files ${folders}`.text()).split('\n');
  for (const path of paths.filter((one) => /\.tsx?$/.test(one) && !LEFT_OUT.test(one))) {
    const code = await Bun.file(join(copy, path)).text();
    for (const fault of listFaults(path, code)) {
      places.push({ line: lines + code.slice(0, fault.start).split('\n').length, path, code, fault });
    }
    lines += code.split('\n').length;
  }
  return Array.from({ length: count }, (_, index) => {
    const inStretch = places.filter(({ line }) => Math.floor((line * count) / (lines + 1)) === index);
    const choices = inStretch.length > 0 ? inStretch : places;
    return choices[Math.floor(random(index) * choices.length)];
  }).filter((place) => place !== undefined);
}

function nameFailure(output: string): string {
  const names = [...output.matchAll(/^(?:\(fail\)|✗) (.*?)(?: \[[\d.]+m?s\])?$/gm)].map((match) => match[1]);
  return names[0] ?? 'a run that fails outside its tests, or takes too long';
}

await Bun.$`git clone --quiet ${ROOT} ${copy}`;
await Bun.$`ln -s ${join(ROOT, 'node_modules')} ${join(copy, 'node_modules')}`;
await mkdir(join(copy, 'test/artifacts'), { recursive: true });
const tests = await listFastTests(copy);
const reach = await measureReach(copy);
const times = await measureTimes(tests);
const timeOf = (file: string) => times.get(file) ?? 1000;

/** The test files in the order in which they would notice a fault of a file, as far as imports tell. */
function orderTests(path: string): string[] {
  const own = `test/${path.replace(/\.tsx?$/, '')}.`;
  const distance = (file: string) => (file.startsWith(own) ? 0 : reach.get(file)?.get(path));
  return tests
    .filter((file) => distance(file) !== undefined)
    .sort((a, b) => (distance(a) ?? 0) - (distance(b) ?? 0) || timeOf(a) - timeOf(b));
}

async function findNotice(path: string): Promise<string | undefined> {
  const near = orderTests(path);
  const others = tests.filter((file) => !near.includes(file));
  let from = 0;
  for (const size of BATCHES) {
    const batch = near.slice(from, from + size);
    from += size;
    if (batch.length === 0) break;
    const usualMs = batch.reduce((sum, file) => sum + timeOf(file), 0);
    const failure = await findFailure(bunTest(batch), SLOWER * usualMs + START_MS);
    if (failure !== undefined) return nameFailure(failure);
  }
  if ((await findFailure([process.execPath, 'x', 'tsc', '--noEmit'], 300_000)) !== undefined)
    return 'the types';
  const usualMs = others.reduce((sum, file) => sum + timeOf(file), 0);
  const failure = await findFailure(bunTest(others), SLOWER * usualMs + START_MS);
  if (failure !== undefined) return nameFailure(failure);
  return near.length === 0 ? 'slow half only: no test of the fast half imports it' : undefined;
}

let noticed = 0;
const faults = await chooseFaults(Number(values.count), values.seed);
console.log('| place | change | noticed by |\n| --- | --- | --- |');
for (const { path, code, fault } of faults.slice(Number(values.from) - 1)) {
  await Bun.write(join(copy, path), code.slice(0, fault.start) + fault.code + code.slice(fault.end));
  const notice = await findNotice(path);
  await Bun.write(join(copy, path), code);
  if (notice !== undefined && !notice.startsWith('slow half')) noticed++;
  const before = code.slice(0, fault.start).split('\n');
  const place = `${path}:${before.length}:${(before.at(-1) ?? '').length + 1}`;
  const cell = (text: string) => text.replaceAll('|', '\\|');
  console.log(`| ${place} | \`${cell(fault.change)}\` | ${cell(notice ?? '**nobody**')} |`);
}
console.log(`\nSeed ${values.seed}: ${noticed} of these are noticed by the fast half.`);
await end(0);
