/** One line of a histogram in Prometheus text. */
export type SeriesValue = { metricName: string; labels: Record<string, string>; value: number };

/** The values of one histogram. */
export type HistogramSeries = {
  observe: {
    (value: number, labels?: Record<string, string>): void;
    /** Observes values of these labels alone. */
    of: (labels: Record<string, string>) => (value: number) => void;
  };
  read: () => SeriesValue[];
};

type Series = { labels: Record<string, string>; counts: number[]; sum: number; count: number };

/**
 * Creates a histogram whose values are counted here and read at each scrape, since prom-client hashes the labels at every
 * observation.
 * @param bounds upper bounds, ascending.
 */
export function createHistogramSeries(
  name: string,
  bounds: readonly number[],
  labelNames: readonly string[],
): HistogramSeries {
  const all = new Map<string, Series>();
  if (labelNames.length === 0) find({});

  function find(labels: Record<string, string>): Series {
    let key = '';
    for (const label of labelNames) key += `${labels[label]}\n`;
    const known = all.get(key);
    if (known) return known;
    const series = { labels, counts: bounds.map(() => 0), sum: 0, count: 0 };
    all.set(key, series);
    return series;
  }

  function add(series: Series, value: number): void {
    series.sum += value;
    series.count += 1;
    const bucket = bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
  }

  const observe = (value: number, labels: Record<string, string> = {}) => add(find(labels), value);
  const of = (labels: Record<string, string>) => {
    const series = find(labels);
    return (value: number) => add(series, value);
  };
  return {
    observe: Object.assign(observe, { of }),
    read: () => [...all.values()].flatMap((series) => toLines(name, bounds, series)),
  };
}

/** Buckets are cumulative. https://prometheus.io/docs/instrumenting/exposition_formats/#histograms-and-summaries */
function toLines(
  name: string,
  bounds: readonly number[],
  { labels, counts, sum, count }: Series,
): SeriesValue[] {
  let below = 0;
  const buckets = bounds.map((bound, index) => {
    below += counts[index] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bound) }, value: below };
  });
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: count },
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
