import { cpus, totalmem } from 'node:os';

export type BenchOptions = {
  /** Penalties in the large dataset; a million by default. */
  rows: number;
  /** How long small waits and measures, and soak keeps the load up. */
  minutes: number;
  /** Prints progress. */
  say: (line: string) => void;
};

/** One line of the table. */
export type Row = {
  what: string;
  /** The figure, with its unit. */
  ours: string;
  /** The reference, measured in the same run. */
  floor: string;
  /** How the two compare, or the figure that has a separate target. */
  ratio: string;
  target: string;
  isReached: boolean;
  /** Why it falls short, or how it was measured. */
  note?: string;
};

/** A named group of rows, each measured side by side in one run. */
export type Bench = {
  name: string;
  title: string;
  /** @throws {NotMeasured} when something it needs is missing. */
  run: (options: BenchOptions) => Promise<Row[]>;
};

/** This machine lacks a tool: the section says so, and the others go on. */
export class NotMeasured extends Error {
  override name = 'NotMeasured';
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

/** @param share 0 to 1; the nearest rank at or above it. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.max(Math.ceil(sorted.length * share) - 1, 0), sorted.length - 1)] ?? Number.NaN;
}

/** Milliseconds, with a sensible number of digits. */
export function formatMs(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 2 : ms < 100 ? 1 : 0)} ms`;
}

function formatRatio(ratio: number): string {
  return `${ratio.toFixed(2)}×`;
}

export function formatMb(mb: number): string {
  return `${mb.toFixed(0)} MB`;
}

/** Of a figure or a ratio; a row without one is for information. */
type Limit = { atMost?: number; atLeast?: number };

function isWithin(
  { atMost = Number.POSITIVE_INFINITY, atLeast = Number.NEGATIVE_INFINITY }: Limit,
  value: number,
) {
  return value <= atMost && value >= atLeast;
}

function describeLimit({ atMost, atLeast }: Limit, format: (value: number) => string): string {
  if (atMost !== undefined) return `≤ ${format(atMost)}`;
  return atLeast === undefined ? 'for information' : `≥ ${format(atLeast)}`;
}

type CompareOptions = Limit & {
  /** Of the floor. */
  name: string;
  format?: (value: number) => string;
};

/** A row that compares ours with a floor; the limit is one of their ratio. */
export function compare(
  what: string,
  { ours, floor }: { ours: number; floor: number },
  { name, format = formatMs, ...limit }: CompareOptions,
): Row {
  return {
    what,
    ours: format(ours),
    floor: `${name}: ${format(floor)}`,
    ratio: formatRatio(ours / floor),
    target: describeLimit(limit, formatRatio),
    isReached: isWithin(limit, ours / floor),
  };
}

type FigureOptions = Limit & {
  /** What is told beside it. */
  floor?: string;
  ratio?: string;
  format?: (value: number) => string;
};

/** A row whose figure has a separate limit. */
export function limitFigure(
  what: string,
  value: number,
  { floor = '–', ratio = '–', format = formatMs, ...limit }: FigureOptions,
): Row {
  const target = describeLimit(limit, format);
  return { what, ours: format(value), floor, ratio, target, isReached: isWithin(limit, value) };
}

/** Does something so many times, one after the other. */
export async function repeat<T>(times: number, work: (number: number) => PromiseLike<T>): Promise<T[]> {
  const results: T[] = [];
  for (let number = 0; number < times; number++) results.push(await work(number));
  return results;
}

/** Both in turn, round after round: a machine that is faster in some seconds than in others is the same to them. */
export async function alternate<T>(
  rounds: number,
  { ours, floor }: { ours: () => PromiseLike<T>; floor: () => PromiseLike<T> },
): Promise<{ ours: T[]; floor: T[] }> {
  const results = await repeat(rounds, async () => ({ ours: await ours(), floor: await floor() }));
  return { ours: results.map((round) => round.ours), floor: results.map((round) => round.floor) };
}

/** The medians of both sides. */
export function medians(sides: { ours: number[]; floor: number[] }): { ours: number; floor: number } {
  return { ours: median(sides.ours), floor: median(sides.floor) };
}

/** @returns how long it took, in milliseconds. */
export async function timeOf(work: () => PromiseLike<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
}

/** The path of a tool. @throws {NotMeasured} when it is not installed. */
export function requireTool(name: string): string {
  const path = Bun.which(name);
  if (path === null) throw new NotMeasured(`${name} is not installed`);
  return path;
}

/** @throws {NotMeasured} elsewhere: processor time and memory are read from /proc. */
export function requireLinux(): void {
  if (process.platform !== 'linux') throw new NotMeasured('processes are read from /proc, which is Linux');
}

/** Describes the machine that the figures were measured on, without names of hosts or folders. */
export function describeMachine(): string {
  const [first] = cpus();
  const model = first?.model.trim().replaceAll(/\s+/g, ' ') ?? process.arch;
  return `${model}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform}-${process.arch}, Bun ${Bun.version}`;
}
