import { Counter, Gauge, Registry } from 'prom-client';

/** Prometheus metrics of one process. */
export type Metrics = {
  /** A value read at each scrape. */
  addGauge: (name: string, help: string, read: () => number) => void;
  /** A value that only grows; the function adds to it. */
  addCounter: <Label extends string>(name: string, help: string, labels: readonly Label[]) => Count<Label>;
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
      const counter = new Counter({
        name: PREFIX + name,
        help,
        labelNames: [...labels],
        registers: [registry],
      });
      return (values, by = 1) => counter.inc(values, by);
    },
    render: async () => ({ text: await registry.metrics(), contentType: registry.contentType }),
  };
}
