import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { createHistogramSeries, type SeriesValue } from './histogram-series.ts';

/** Prometheus metrics of one process. */
export type Metrics = {
  /** A value read at each scrape. */
  addGauge: (name: string, help: string, read: () => number) => void;
  /** Values read at each scrape, one for each set of labels. */
  addGauges: <Label extends string>(
    name: string,
    help: string,
    labels: readonly Label[],
    read: () => Iterable<{ labels: Record<Label, string>; value: number }>,
  ) => void;
  /** A value that only grows; the function adds to it. */
  addCounter: <Label extends string>(name: string, help: string, labels: readonly Label[]) => Count<Label>;
  /** A histogram of values with these upper bounds, ascending; the function adds a value. */
  addHistogram: <Label extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    labels?: readonly Label[],
  ) => Observe<Label>;
  /** The exposition text and its content type. */
  render: () => Promise<{ text: string; contentType: string }>;
};

export type Count<Label extends string> = {
  (labels: Record<Label, string | number>, by?: number): void;
  /** The counter of these labels alone, for what is counted often: finding it by its labels takes longer than counting. */
  of: (labels: Record<Label, string | number>) => () => void;
};

export type Observe<Label extends string> = {
  (value: number, labels?: Record<Label, string>): void;
  /** The histogram of these labels alone. */
  of: (labels: Record<Label, string>) => (value: number) => void;
};

/** Histogram buckets for the time of requests and queries. */
export const LATENCY_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;
/** How often the delay of the event loop is measured. */
const LOOP_CHECK_MS = 500;

const PREFIX = 'community_api_';

/** A registry with the process's own figures: memory, processor time, start, delay of the event loop. */
export function createMetrics(): Metrics {
  const registry = new Registry();
  const addGauge: Metrics['addGauge'] = (name, help, read) => {
    new Gauge({
      name: PREFIX + name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });
  };
  addProcessMetrics(registry);
  const addHistogram: Metrics['addHistogram'] = (name, help, bounds, labels = []) => {
    const series = createHistogramSeries(PREFIX + name, bounds, labels);
    registry.registerMetric(new KeptHistogram({ name: PREFIX + name, help }, series.read));
    return series.observe;
  };
  watchEventLoop(
    addHistogram(
      'event_loop_delay_seconds',
      'How late a timer of 100 ms fired: how long requests wait while something computes.',
      LATENCY_SECONDS,
    ),
  );
  return {
    addGauge,
    addGauges: (name, help, labels, read) => {
      new Gauge({
        name: PREFIX + name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset();
          for (const { labels: given, value } of read()) this.set(given, value);
        },
      });
    },
    addCounter: (name, help, labels) => {
      // Counted here and read at each scrape, since prom-client hashes the labels at every increment.
      type Values = Parameters<Count<(typeof labels)[number]>>[0];
      const all = new Map<string, { values: Values; count: number }>();
      new Counter({
        name: PREFIX + name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset();
          for (const { values, count } of all.values()) this.inc(values, count);
        },
      });
      const find = (values: Values) => {
        let key = '';
        for (const label of labels) key += `${values[label]}\n`;
        return all.getOrInsertComputed(key, () => ({ values, count: 0 }));
      };
      const count = (values: Values, by = 1) => {
        find(values).count += by;
      };
      const of = (values: Values) => {
        const series = find(values);
        return () => {
          series.count += 1;
        };
      };
      return Object.assign(count, { of });
    },
    addHistogram,
    render: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}

/** @see https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
function addProcessMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers,
    collect() {
      this.set(process.memoryUsage.rss());
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since the Unix epoch in seconds.',
    registers,
  }).set(performance.timeOrigin / 1000);
  new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      this.reset();
      this.inc((user + system) / 1e6);
    },
  });
}

/** A histogram whose values `createHistogramSeries` keeps. */
class KeptHistogram extends Histogram {
  #configuration: { name: string; help: string };
  #read: () => SeriesValue[];

  constructor(configuration: { name: string; help: string }, read: () => SeriesValue[]) {
    super({ ...configuration, registers: [] });
    this.#configuration = configuration;
    this.#read = read;
  }

  /** Called by the registry at each scrape. */
  async getForPromString() {
    const { name, help } = this.#configuration;
    return { name, help, type: 'histogram', values: this.#read(), aggregator: 'sum' };
  }
}

/** Measured with a timer, because Bun's `monitorEventLoopDelay` does not notice a blocked loop. */
function watchEventLoop(observe: Observe<never>): void {
  let dueMs = performance.now() + LOOP_CHECK_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(nowMs - dueMs, 0) / 1000);
    dueMs = nowMs + LOOP_CHECK_MS;
  }, LOOP_CHECK_MS);
  timer.unref();
}
