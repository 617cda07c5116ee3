import { InvalidInput } from '../../domain/errors.ts';
import { IKS } from '../../import/iks.ts';
import { createMirror } from '../../import/mirror.ts';
import { createMirrorMetrics, type Rounds } from '../../import/rounds.ts';
import { simpleAdminSystem } from '../../import/simple-admin/simple-admin.ts';
import { checkSourceUrl } from '../../import/source/open-source.ts';
import { sourcebansSystem } from '../../import/sourcebans/sourcebans.ts';
import { createVipMirror } from '../../import/vipcore.ts';
import { recordExpiredPenalties } from '../../queries/penalties/events.ts';
import { endFlagsOfOthers, endTimedFlags } from '../../queries/users/user-flags.ts';
import { startLoop } from '../../runtime/loop.ts';
import type { Context } from '../context.ts';
import { createExpirySweep, EXPIRY_SWEEP_MS } from './expiry.ts';
import { startRetention } from './retention.ts';

/** Subscribers receive an expiry within a minute, even after an outage of some seconds. */
export const EXPIRY_EVENTS_MS = 15_000;

/** How late a flag may be found that was given until an earlier end than all others. */
const MAX_FLAG_PAUSE_MS = 5000;

/** Role `sync`: marks expired penalties, mirrors their sources, gives flags, and deletes old rows. */
export async function startSync({
  config,
  database,
  log,
  now,
  metrics,
  onStopPart,
  leaders,
  health,
}: Context): Promise<void> {
  const sweep = createExpirySweep(database.db, now);
  onStopPart(
    'expiry',
    startLoop({ name: 'marking expired penalties', everyMs: EXPIRY_SWEEP_MS, work: sweep, log }).stop,
  );

  onStopPart(
    'expiry events',
    startLoop({
      name: 'recording expired penalties',
      everyMs: EXPIRY_EVENTS_MS,
      work: async () => {
        await recordExpiredPenalties(database.db, now());
      },
      log,
    }).stop,
  );

  const { simpleadmin, sourcebans, iks } = config.sources;
  const mirrored = [
    { system: simpleAdminSystem(simpleadmin), settings: simpleadmin },
    { system: sourcebansSystem(sourcebans), settings: sourcebans },
    { system: IKS, settings: iks },
  ];
  const givesFlags = [
    ...mirrored.filter(({ settings: { url, flags } }) => url !== undefined && flags !== undefined),
    ...(config.vipcore.url === undefined ? [] : [{ system: { kind: 'vipcore' as const } }]),
  ];
  await endFlagsOfOthers(
    database.db,
    givesFlags.map(({ system }) => system.kind),
    now(),
  );
  let nextEnd: Date | undefined;
  onStopPart(
    'ending flags',
    startLoop({
      name: 'ending flags',
      everyMs: MAX_FLAG_PAUSE_MS,
      work: async () => {
        nextEnd = await endTimedFlags(database.db, now());
      },
      // At their second.
      nextPauseMs: () =>
        Math.max(0, Math.min(MAX_FLAG_PAUSE_MS, (nextEnd?.getTime() ?? Infinity) - now().getTime())),
      log,
    }).stop,
  );

  const retention = startRetention({ db: database.db, leaders, log });
  onStopPart('retention', retention.stop);

  const deps = { db: database.db, leaders, log, metrics: createMirrorMetrics(metrics), now };
  const mirrors: Rounds[] = [];
  for (const { system, settings } of mirrored) {
    const { url } = settings;
    if (url === undefined) continue;
    checkUrl(`${system.kind.toUpperCase()}_URL`, url);
    mirrors.push(createMirror({ ...deps, databaseUrl: database.url }, system, { ...settings, url }));
  }
  const { url: vipUrl, flags } = config.vipcore;
  if (vipUrl !== undefined) {
    checkUrl('VIPCORE_URL', vipUrl);
    mirrors.push(createVipMirror(deps, { url: vipUrl, flags }));
  }
  for (const { part, health: report, start, stop } of mirrors) {
    onStopPart(part, stop);
    health.set(part, report);
    start();
  }
}

/** @throws {InvalidInput} one line that names the variable, and nothing secret. */
function checkUrl(variable: string, url: string): void {
  try {
    checkSourceUrl(url);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(`${variable} isn't valid: ${error.message}`);
  }
}
