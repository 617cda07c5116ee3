import { UNFINISHED_STATUSES } from '../domain/round-sound.ts';
import { createLiveQuery, type LiveQuery } from '../live/live-query.ts';
import { countUnfinishedSounds, listReadySounds } from '../queries/round-sounds/round-sounds.ts';
import type { Context } from './context.ts';

/** The titles of published sounds of players who may have one, by their SteamID. */
export async function watchReadySounds(context: Context): Promise<LiveQuery<Map<string, string>>> {
  const audience = context.config.sound.audience;
  const sounds = await watchSounds(context, {
    name: 'sounds',
    read: () => listReadySounds(context.database.db, audience),
    build: (ready) => new Map(ready.map(({ steamId64, title }) => [steamId64, title])),
  });
  if (audience !== 'everyone') context.changes.onChange('users', sounds.invalidate);
  return sounds;
}

/** As often as Prometheus reads them. */
const GAUGES_MS = 15_000;

/** Gauges of the upload queue, which all processes share. */
export async function addQueueGauges(context: Context): Promise<void> {
  const queue = await watchSounds(context, {
    name: 'queue of sounds',
    read: () => countUnfinishedSounds(context.database.db),
    build: (counts) => new Map(counts.map(({ status, count }) => [status, count])),
    refreshMs: GAUGES_MS,
  });
  for (const status of UNFINISHED_STATUSES) {
    const help = `Uploaded sounds that are ${status}.`;
    context.metrics.addGauge(`sounds_${status}`, help, () => queue.current().get(status) ?? 0);
  }
}

/** A live query over the table of sounds. */
async function watchSounds<Rows, T>(
  { log, changes, onStop }: Context,
  options: Omit<Parameters<typeof createLiveQuery<Rows, T>>[0], 'log'>,
): Promise<LiveQuery<T>> {
  const query = await createLiveQuery({ log, ...options });
  onStop(options.name, query.stop);
  changes.onChange('round_sounds', query.invalidate);
  return query;
}
