import { createLifts, type Lifts } from '../import/lifting.ts';
import type { Context } from './context.ts';
import { checkUrl, listSystems } from './systems.ts';

/** How soon a corrected account or database is noticed. */
const CHECK_MS = 60_000;

/** Opens what lifts penalties at their sources, and checks these until they are in order. */
export function openLifts({ config, database, log, now, repeat }: Context): Lifts {
  const sources = listSystems(config.sources).flatMap(({ system, settings }) => {
    const { source, url: mirrorUrl, liftUrl } = settings;
    if (mirrorUrl === undefined || liftUrl === undefined) return [];
    checkUrl(`${system.kind.toUpperCase()}_LIFT_URL`, liftUrl);
    return [{ system, source, mirrorUrl, liftUrl }];
  });
  const { db, requestDb } = database;
  const lifts = createLifts({ requestDb, db, log, now, audience: config.liftFor, sources });
  if (sources.length > 0) {
    repeat({ name: 'checking what lifts penalties', everyMs: CHECK_MS, work: lifts.check });
  }
  return lifts;
}
