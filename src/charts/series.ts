import type { HistoryPoint } from '../queries/servers/samples.ts';

/** A server's history as charts draw it: points oldest first, each covering `stepSeconds`. */
export type Series = { points: readonly HistoryPoint[]; stepSeconds: number };

/** Runs of neighbouring points that satisfy a condition. */
export function splitIntoStretches(
  { points, stepSeconds }: Series,
  belongs: (point: HistoryPoint) => boolean,
): HistoryPoint[][] {
  // One missing step may be a late poll: it is no gap yet.
  const maxGapMs = 2 * stepSeconds * 1000;
  const stretches: HistoryPoint[][] = [];
  let previous: HistoryPoint | undefined;
  for (const point of points) {
    if (!belongs(point)) {
      previous = undefined;
      continue;
    }
    const continues = previous !== undefined && point.at.getTime() - previous.at.getTime() <= maxGapMs;
    if (continues) stretches.at(-1)?.push(point);
    else stretches.push([point]);
    previous = point;
  }
  return stretches;
}

/** The same history in longer steps, for a smaller drawing or a shorter table. @param stepSeconds at least those of the series. */
export function mergeSteps({ points }: Series, stepSeconds: number): Series {
  const stepMs = stepSeconds * 1000;
  const startOf = ({ at }: HistoryPoint) => Math.floor(at.getTime() / stepMs) * stepMs;
  return { stepSeconds, points: mergePoints(points, startOf) };
}

/** The same history in days. @param days their first moments, the oldest first; what was before them is left out. */
export function mergeDays({ points }: Series, days: readonly Date[]): Series {
  const startOf = ({ at }: HistoryPoint) => days.findLast((day) => day <= at)?.getTime() ?? 0;
  const [first = new Date(0)] = days;
  return {
    stepSeconds: 86_400,
    points: mergePoints(
      points.filter(({ at }) => at >= first),
      startOf,
    ),
  };
}

/** @param startOf when the step of a point begins. */
function mergePoints(
  points: readonly HistoryPoint[],
  startOf: (point: HistoryPoint) => number,
): HistoryPoint[] {
  const steps = Map.groupBy(points, startOf);
  return [...steps].map(([at, members]) => ({
    at: new Date(at),
    playersAverage: averagePlayersOf(members),
    playersMaximum: Math.max(...members.map(({ playersMaximum }) => playersMaximum)),
    maxPlayers: Math.max(...members.map(({ maxPlayers }) => maxPlayers)),
    onlineShare: onlineShareOf(members),
    polledSeconds: sum(members.map(({ polledSeconds }) => polledSeconds)),
  }));
}

/** The players of all servers together. @param all in steps of one length. */
export function addSeries(all: readonly Series[], stepSeconds: number): Series {
  const points = all.flatMap((series) => series.points);
  const steps = Map.groupBy(points, ({ at }) => at.getTime());
  return {
    stepSeconds,
    points: [...steps]
      .sort(([a], [b]) => a - b)
      .map(([at, members]) => ({
        at: new Date(at),
        playersAverage: sum(members.map(({ playersAverage }) => playersAverage)),
        playersMaximum: sum(members.map(({ playersMaximum }) => playersMaximum)),
        maxPlayers: sum(members.map(({ maxPlayers }) => maxPlayers)),
        onlineShare: Math.max(...members.map(({ onlineShare }) => onlineShare)),
        polledSeconds: Math.max(...members.map(({ polledSeconds }) => polledSeconds)),
      })),
  };
}

/** Share of the time of its polls in which a server was online, 0 to 1; undefined without polls. */
export function uptimeOf({ points }: Pick<Series, 'points'>): number | undefined {
  return points.length === 0 ? undefined : onlineShareOf(points);
}

/**
 * The average number of players at the polls, 0 without any. Nobody plays while a server is offline. A step that was polled
 * only in part counts for that part.
 */
export function averagePlayersOf(points: readonly HistoryPoint[]): number {
  const playerSeconds = sum(
    points.map(({ playersAverage, polledSeconds }) => playersAverage * polledSeconds),
  );
  return playerSeconds / Math.max(sum(points.map(({ polledSeconds }) => polledSeconds)), 1);
}

/** A step that was polled only in part counts for that part. */
function onlineShareOf(points: readonly HistoryPoint[]): number {
  const onlineSeconds = sum(points.map(({ onlineShare, polledSeconds }) => onlineShare * polledSeconds));
  return onlineSeconds / sum(points.map(({ polledSeconds }) => polledSeconds));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
