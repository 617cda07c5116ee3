import type { Db } from '../../db/client.ts';
import { Conflict } from '../../domain/errors.ts';
import { SYSTEM_TITLES } from '../../domain/systems.ts';
import {
  findPenaltySource,
  forgetPenaltySource,
  hasPenaltiesOf,
  type PenaltySource,
  type SourceProgress,
  savePenaltySource,
} from '../../queries/penalties/sources.ts';

/** The penalties of a source name came from another database: importing this one would overwrite them. */
export class OtherSource extends Conflict {
  override name = 'OtherSource';

  constructor(
    /** The origin so far, in words. */
    readonly previous: string,
    /** What was to be imported. */
    readonly current: string,
    source: string,
  ) {
    super(
      `${source} has been ${previous} so far, but this is ${current}: use --source NAME to import it separately, ` +
        'or --replace-source if it is the same database at a new address',
    );
  }
}

/**
 * Saves the origin of a source the first time, and compares it later. A name without any penalties can be reused. The
 * caller holds the source's lock.
 * @param replaces the source is the same one, at this new address.
 * @returns what earlier imports of this database have saved.
 * @throws {OtherSource} when the saved origin is another database.
 */
export async function claimSource(
  db: Db,
  source: PenaltySource,
  { isDryRun, replaces }: { isDryRun: boolean; replaces: boolean },
): Promise<SourceProgress> {
  const saved = await findPenaltySource(db, source.name);
  const { timezone = null, completedAt = null, ...origin } = saved ?? {};
  if (Bun.deepEquals(origin, source)) return { timezone, completedAt };
  if (saved && !replaces) {
    if (await hasPenaltiesOf(db, source.name)) {
      throw new OtherSource(describe(saved), describe(source), source.name);
    }
    // Server ids of another database stand for other servers.
    if (!isDryRun) await forgetPenaltySource(db, source.name);
  }
  if (!isDryRun) await savePenaltySource(db, source);
  return replaces ? { timezone, completedAt } : { timezone: null, completedAt: null };
}

function describe({ kind, address, prefix }: PenaltySource): string {
  const where = address === '' ? '' : ` at ${address}`;
  const title = kind === 'ndjson' ? 'lines of JSON' : SYSTEM_TITLES[kind];
  return `${title}${where}${prefix === '' ? '' : ` (prefix ${prefix})`}`;
}
