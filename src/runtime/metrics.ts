/** Prometheus metrics of one process. @see https://prometheus.io/docs/instrumenting/exposition_formats */
export type Metrics = {
  /** A value read at each scrape. */
  addGauge: (name: string, help: string, read: () => number) => void;
  /** Values read at each scrape, one for each set of labels. */
  addGauges: (
    name: string,
    help: string,
    read: () => Iterable<{ labels: Record<string, string>; value: number }>,
  ) => void;
  /** A value that only grows; the function adds to it. */
  addCounter: <Label extends string>(name: string, help: string, labels: readonly Label[]) => Count<Label>;
  /** A histogram of values with these upper bounds, ascending; the function adds a value. */
  addHistogram: <Label extends string = never>(
    name: string,
    help: string,
    bounds: readonly number[],
    labels?: readonly Label[],
  ) => (value: number, labels?: Record<Label, string>) => void;
  render: () => { text: string; contentType: string };
};

export type Count<Label extends string> = (labels: Record<Label, string | number>, by?: number) => void;

/** Histogram buckets for the time of requests and queries. */
export const LATENCY_SECONDS = [
  0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
] as const;
/** How often the delay of the event loop is measured. */
const LOOP_CHECK_MS = 500;

const PREFIX = 'community_api_';

type Labels = Record<string, string | number>;
type Sample = { suffix?: '_bucket' | '_sum' | '_count'; labels: Labels; value: number };
type Metric = {
  name: string;
  help: string;
  type: 'gauge' | 'counter' | 'histogram';
  read: () => Iterable<Sample>;
};

/** A registry with the process's own figures: memory, processor time, start, delay of the event loop. */
export function createMetrics(): Metrics {
  const all = listProcessMetrics();
  const add = (type: Metric['type'], name: string, help: string, read: Metric['read']) =>
    all.push({ type, name: PREFIX + name, help, read });
  const addHistogram: Metrics['addHistogram'] = (name, help, bounds, labelNames = []) => {
    const create = () => ({ counts: bounds.map(() => 0), sum: 0, count: 0 });
    const series = createSeries(labelNames, create);
    add('histogram', name, help, () => series.list().flatMap((one) => toSamples(bounds, one)));
    return (value, labels) => {
      const histogram = series.find(labels ?? {});
      histogram.sum += value;
      histogram.count += 1;
      const bucket = bounds.findIndex((bound) => value <= bound);
      if (bucket >= 0) histogram.counts[bucket] = (histogram.counts[bucket] ?? 0) + 1;
    };
  };
  watchEventLoop(
    addHistogram(
      'event_loop_delay_seconds',
      'How late a timer fired: how long requests wait while something computes.',
      LATENCY_SECONDS,
    ),
  );
  return {
    addGauge: (name, help, read) => add('gauge', name, help, () => [{ labels: {}, value: read() }]),
    addGauges: (name, help, read) => add('gauge', name, help, read),
    addCounter: (name, help, labelNames) => {
      const series = createSeries(labelNames, () => ({ count: 0 }));
      add('counter', name, help, () =>
        series.list().map(({ labels, value }) => ({ labels, value: value.count })),
      );
      return (labels, by = 1) => {
        series.find(labels).count += by;
      };
    },
    addHistogram,
    render: () => ({
      text: `${all.map(format).join('\n')}\n`,
      contentType: 'text/plain; version=0.0.4; charset=utf-8',
    }),
  };
}

/** The series of some labels, or a step on the way to them. */
type SeriesNode<Value> = {
  children: Map<string | number | undefined, SeriesNode<Value>>;
  series?: { labels: Labels; value: Value };
};

/**
 * Values by their labels; the one without labels exists from the beginning. Found label by label: joining them to a key
 * would take a tenth of the time of a cached response.
 */
function createSeries<Value>(labelNames: readonly string[], create: () => Value) {
  const all: { labels: Labels; value: Value }[] = [];
  const root: SeriesNode<Value> = { children: new Map() };
  const find = (labels: Labels): Value => {
    let node = root;
    for (const name of labelNames) {
      let child = node.children.get(labels[name]);
      if (!child) {
        child = { children: new Map() };
        node.children.set(labels[name], child);
      }
      node = child;
    }
    if (!node.series) {
      node.series = { labels, value: create() };
      all.push(node.series);
    }
    return node.series.value;
  };
  if (labelNames.length === 0) find({});
  return { find, list: () => all };
}

/** Buckets are cumulative. */
function toSamples(
  bounds: readonly number[],
  { labels, value }: { labels: Labels; value: { counts: readonly number[]; sum: number; count: number } },
): Sample[] {
  const { counts, sum, count } = value;
  let below = 0;
  const buckets = bounds.map((bound, index): Sample => {
    below += counts[index] ?? 0;
    return { suffix: '_bucket', labels: { ...labels, le: bound }, value: below };
  });
  return [
    ...buckets,
    { suffix: '_bucket', labels: { ...labels, le: '+Inf' }, value: count },
    { suffix: '_sum', labels, value: sum },
    { suffix: '_count', labels, value: count },
  ];
}

function format({ name, help, type, read }: Metric): string {
  const samples = [...read()].map(({ suffix = '', labels, value }) => {
    const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(String(text))}"`);
    return `${name}${suffix}${pairs.length === 0 ? '' : `{${pairs.join(',')}}`} ${value}`;
  });
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...samples].join('\n');
}

function escapeLabel(text: string): string {
  return text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
}

/** @see https://prometheus.io/docs/instrumenting/writing_clientlibs/#process-metrics */
function listProcessMetrics(): Metric[] {
  const read = (value: () => number) => () => [{ labels: {}, value: value() }];
  return [
    {
      type: 'gauge',
      name: 'process_resident_memory_bytes',
      help: 'Resident memory size in bytes.',
      read: read(process.memoryUsage.rss),
    },
    {
      type: 'gauge',
      name: 'process_start_time_seconds',
      help: 'Start time of the process since the Unix epoch in seconds.',
      read: read(() => performance.timeOrigin / 1000),
    },
    {
      type: 'counter',
      name: 'process_cpu_seconds_total',
      help: 'Total user and system CPU time spent in seconds.',
      read: read(() => {
        const { user, system } = process.cpuUsage();
        return (user + system) / 1e6;
      }),
    },
  ];
}

/** Measured with a timer, because Bun's `monitorEventLoopDelay` does not notice a blocked loop. */
function watchEventLoop(observe: (value: number) => void): void {
  let dueMs = performance.now() + LOOP_CHECK_MS;
  const timer = setInterval(() => {
    const nowMs = performance.now();
    observe(Math.max(nowMs - dueMs, 0) / 1000);
    dueMs = nowMs + LOOP_CHECK_MS;
  }, LOOP_CHECK_MS);
  timer.unref();
}
