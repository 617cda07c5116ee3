import { readProcessorMs } from '../../support/machine/processes.ts';
import { requireTool } from '../bench.ts';
import type { Child } from './child.ts';

type LoadFigures = { requests: number; requestsPerSecond: number; p99Ms: number; refused: number };

type LoadOptions = {
  seconds: number;
  /** 64 by default. */
  connections?: number;
  headers?: Record<string, string>;
  /** Whether responses other than 2xx and 3xx are counted instead of an error. */
  mayBeRefused?: boolean;
};

const UNIT_MS: Record<string, number> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

/**
 * Loads an address from a second process over kept-alive connections.
 * @throws {NotMeasured} without wrk; {Error} when a response was neither 2xx nor 3xx.
 */
export async function runWrk(
  url: string,
  { seconds, connections = 64, headers = {}, mayBeRefused = false }: LoadOptions,
): Promise<LoadFigures> {
  const shown = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const command = [
    '-t1',
    `-c${connections}`,
    `-d${seconds}s`,
    '--timeout',
    '10s',
    '--latency',
    ...shown,
    url,
  ];
  const wrk = Bun.spawn([requireTool('wrk'), ...command], { stdout: 'pipe' });
  const output = await new Response(wrk.stdout).text();
  if (!mayBeRefused && /Non-2xx|Socket errors/.test(output))
    throw new Error(`wrk met errors at ${url}:\n${output}`);
  const find = (pattern: RegExp) => pattern.exec(output)?.slice(1) ?? [];
  const [p99 = '', unit = ''] = find(/99%\s+([\d.]+)(us|ms|s|m)/);
  return {
    requests: Number(find(/(\d+) requests in/)[0]),
    requestsPerSecond: Number(find(/Requests\/sec:\s+([\d.]+)/)[0]),
    p99Ms: Number(p99) * (UNIT_MS[unit] ?? Number.NaN),
    refused: Number(find(/Non-2xx or 3xx responses: (\d+)/)[0] ?? 0),
  };
}

/** Loads a server's path as {@link runWrk} does. @returns `processorMs` of a request, too. */
export async function loadServer({ origin, pid }: Child, path: string, options: LoadOptions) {
  const before = await readProcessorMs(pid);
  const figures = await runWrk(origin + path, options);
  const processorMs = ((await readProcessorMs(pid)) - before) / figures.requests;
  return { ...figures, processorMs };
}
