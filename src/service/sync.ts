import { once } from 'node:events';
import type { Logger } from 'pino';
import type { Db } from '../db/client.ts';
import type { Leaders, Leadership, Part } from '../db/leader.ts';
import type { FlagSystem } from '../domain/systems.ts';
import { createMirror } from '../import/mirror/mirror.ts';
import type { Rounds } from '../import/rounds.ts';
import { createVipMirror } from '../import/vipcore.ts';
import { settleAppeals } from '../queries/appeals/settling.ts';
import { forgetMembers } from '../queries/discord/members.ts';
import { recordExpiredPenalties } from '../queries/events.ts';
import { forgetHeldRemovals } from '../queries/held-removals.ts';
import { markExpiredPenalties } from '../queries/penalties/expiry.ts';
import { deleteOldRows } from '../queries/retention.ts';
import { saveConfiguredFlags } from '../queries/users/user-changes.ts';
import { endFlagsOfOthers, endTimedFlags } from '../queries/users/user-flags.ts';
import { startLoop } from '../runtime/loop.ts';
import type { Context } from './context.ts';
import { checkUrl, listSystems } from './systems.ts';

/** Subscribers receive an expiry within a minute, even after an outage of some seconds. */
export const EXPIRY_EVENTS_MS = 15_000;

/** How late an appeal follows the end of its penalty; other changes wake the loop. */
const APPEALS_MS = 15_000;
const APPEALS_DEBOUNCE_MS = 500;

/** The longest pause: a new flag may end before all others. */
const MAX_FLAG_PAUSE_MS = 5000;

/** Role `sync`: marks expired penalties, mirrors their sources, gives flags, and deletes old rows. */
export async function startSync(context: Context): Promise<void> {
  const { config, database, changes, log, now, mirrorMetrics, onStopPart, leaders, health, repeat } = context;
  const { db } = database;
  repeat({
    name: 'marking expired penalties',
    everyMs: EXPIRY_SWEEP_MS,
    work: createExpirySweep(db, now),
  });
  repeat({
    name: 'recording expired penalties',
    everyMs: EXPIRY_EVENTS_MS,
    work: () => recordExpiredPenalties(db, now()),
  });
  if (config.appeals) {
    const appeals = repeat({
      name: 'settling appeals',
      everyMs: APPEALS_MS,
      debounceMs: APPEALS_DEBOUNCE_MS,
      work: () => settleAppeals(db, now()),
    });
    changes.onChange('penalty_events', () => void appeals.wake());
  }

  const mirrored = listSystems(config.sources);
  const mirroredKinds = mirrored.flatMap(({ system, settings: { url } }) => (url ? [system.kind] : []));
  await forgetHeldRemovals(db, 'penalties', mirroredKinds);
  const vipKinds = config.vipcore.url === undefined ? [] : (['vipcore'] as const);
  await forgetHeldRemovals(db, 'tables', [...mirroredKinds, ...vipKinds]);
  const { roles } = config.discord;
  const givesFlags: FlagSystem[] = [
    ...mirrored.flatMap(({ system, settings: { url, flags } }) => (url && flags ? [system.kind] : [])),
    ...vipKinds,
    ...(roles && roles.flags.length > 0 ? ['discord' as const] : []),
  ];
  await endFlagsOfOthers(db, givesFlags, now());
  if (!roles) await forgetMembers(db);
  // Only flags that a system gives have an end.
  if (givesFlags.length > 0) {
    let nextEnd: Date | undefined;
    repeat({
      name: 'ending flags',
      everyMs: MAX_FLAG_PAUSE_MS,
      work: async () => {
        nextEnd = await endTimedFlags(db, now());
      },
      // At their second.
      nextPauseMs: () =>
        Math.max(0, Math.min(MAX_FLAG_PAUSE_MS, (nextEnd?.getTime() ?? Infinity) - now().getTime())),
    });
  }

  await startSettings(context);
  const kept = { erasedKeptDays: config.erasedKeptDays, appealAgainDays: config.appeals?.againDays };
  onStopPart('retention', startRetention({ db, leaders, log }, kept).stop);

  const deps = { db, log, metrics: mirrorMetrics, now };
  const lead = (part: Part, rounds: Rounds) => {
    health.set(part, rounds.health);
    onStopPart(part, leaders.run(part, rounds.lead).stop);
  };
  for (const { system, settings } of mirrored) {
    const { url } = settings;
    if (url === undefined) continue;
    checkUrl(`${system.kind.toUpperCase()}_URL`, url);
    const rounds = createMirror({ ...deps, databaseUrl: database.url }, system, { ...settings, url });
    lead(`mirror_${system.kind}`, rounds);
    changes.onChange('pending_lifts', rounds.wake);
  }
  const { url: vipUrl, flags } = config.vipcore;
  if (vipUrl !== undefined) {
    checkUrl('VIPCORE_URL', vipUrl);
    lead('mirror_vipcore', createVipMirror(deps, { url: vipUrl, flags }));
  }
}

/**
 * The leader writes the settings that name people to the database before it serves, so that a process with other
 * settings takes no rights from anybody.
 */
async function startSettings({ config, database, leaders, now, onStopPart }: Context): Promise<void> {
  const written = Promise.withResolvers<void>();
  const leadership = leaders.run('settings', () => {
    const saving = saveConfiguredFlags(database.db, config, now());
    written.resolve(saving);
    return saving;
  });
  onStopPart('settings', leadership.stop);
  // The leadership logs a failure after the start.
  written.promise.catch(() => undefined);
  await leadership.isDecided;
  if (leadership.isLeader()) await written.promise;
}

/** How often to sweep. A clock that is wrong for a shorter time marks nothing. */
const EXPIRY_SWEEP_MS = 60_000;

/**
 * Creates the work that marks penalties as expired. A mark cannot be undone, and lists are correct without it: so each
 * sweep uses the earlier of its own and the previous sweep's time, and the first sweep marks nothing.
 */
export function createExpirySweep(db: Db, now: () => Date): () => Promise<void> {
  let last: Date | undefined;
  return async () => {
    const reading = now();
    const before = last;
    last = reading;
    if (before === undefined) return;
    const earlier = new Date(Math.min(before.getTime(), reading.getTime()));
    while ((await markExpiredPenalties(db, earlier)) > 0);
  };
}

const EVERY_MS = 86_400_000;
/** The pause after a failure. */
const RETRY_MS = 300_000;

/** Deletes old rows at the start and then once a day, in one process at a time, in steps that hold no lock for long. */
export function startRetention(
  { db, leaders, log }: { db: Db; leaders: Leaders; log: Logger },
  { retryMs = RETRY_MS, ...kept }: { retryMs?: number } & Parameters<typeof deleteOldRows>[1] = {},
): Leadership {
  const work = async (signal: AbortSignal) => {
    const deleted = await deleteOldRows(db, { ...kept, signal });
    if (Object.values(deleted).some((count) => count > 0)) log.info({ deleted }, 'old rows deleted');
  };
  return leaders.run('retention', async (signal) => {
    const loop = startLoop({
      name: 'deleting old rows',
      everyMs: retryMs,
      nextPauseMs: () => EVERY_MS,
      work,
      log,
    });
    await once(signal, 'abort');
    await loop.stop();
  });
}
