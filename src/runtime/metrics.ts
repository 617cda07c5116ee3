import { Counter, Gauge, Histogram, Registry } from 'prom-client';

/** Prometheus metrics of one process. */
export type Metrics = {
  /** A value read at each scrape. */
  addGauge: (name: string, help: string, read: () => number) => void;
  /** A value that only grows; the function adds to it. */
  addCounter: <Label extends string>(name: string, help: string, labels: readonly Label[]) => Count<Label>;
  /** A histogram of values with these upper bounds; the function adds a value. */
  addHistogram: (name: string, help: string, bounds: readonly number[]) => (value: number) => void;
  /** The exposition text and its content type. */
  render: () => Promise<{ text: string; contentType: string }>;
};

export type Count<Label extends string> = (labels: Record<Label, string | number>, by?: number) => void;

const PREFIX = 'community_api_';

/** A registry with the process's own figures: memory, uptime, delay of the event loop. */
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
  addGauge('resident_memory_bytes', 'Memory of the process.', () => process.memoryUsage.rss());
  addGauge('uptime_seconds', 'Time since the process began.', () => process.uptime());
  return {
    addGauge,
    addCounter: (name, help, labels) => {
      // Counted here and handed over at each scrape, since the package hashes the labels at every increment.
      const counts = new Map<
        string,
        { values: Parameters<Count<(typeof labels)[number]>>[0]; count: number }
      >();
      new Counter({
        name: PREFIX + name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset();
          for (const { values, count } of counts.values()) this.inc(values, count);
        },
      });
      return (values, by = 1) => {
        let key = '';
        for (const label of labels) key += `${values[label]}\n`;
        const known = counts.get(key);
        if (known) known.count += by;
        else counts.set(key, { values, count: by });
      };
    },
    addHistogram: (name, help, bounds) => {
      const options = { name: PREFIX + name, help, buckets: [...bounds], registers: [registry] };
      const histogram = new Histogram(options);
      return (value) => histogram.observe(value);
    },
    render: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}
