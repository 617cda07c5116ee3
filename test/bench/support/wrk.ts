import { requireTool } from '../bench.ts';

export type LoadFigures = { requests: number; requestsPerSecond: number; p99Ms: number };

type LoadOptions = { seconds: number; connections?: number; headers?: Record<string, string> };

const UNIT_MS: Record<string, number> = { us: 0.001, ms: 1, s: 1000, m: 60_000 };

/**
 * Loads an address from a second process over kept-alive connections (64 by default).
 * @throws {NotMeasured} without wrk; {Error} when an answer was neither 2xx nor 3xx.
 */
export async function runWrk(
  url: string,
  { seconds, connections = 64, headers = {} }: LoadOptions,
): Promise<LoadFigures> {
  const shown = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`]);
  const command = ['-t1', `-c${connections}`, `-d${seconds}s`, '--latency', ...shown, url];
  const wrk = Bun.spawn([requireTool('wrk'), ...command], { stdout: 'pipe' });
  const output = await new Response(wrk.stdout).text();
  if (/Non-2xx|Socket errors/.test(output)) throw new Error(`wrk met errors at ${url}:\n${output}`);
  const [, requests = ''] = /(\d+) requests in/.exec(output) ?? [];
  const [, perSecond = ''] = /Requests\/sec:\s+([\d.]+)/.exec(output) ?? [];
  const [, p99 = '', unit = ''] = /99%\s+([\d.]+)(us|ms|s|m)/.exec(output) ?? [];
  return {
    requests: Number(requests),
    requestsPerSecond: Number(perSecond),
    p99Ms: Number(p99) * (UNIT_MS[unit] ?? Number.NaN),
  };
}
