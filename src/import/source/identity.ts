import type { Db } from '../../db/client.ts';
import { Conflict } from '../../domain/errors.ts';
import { SYSTEM_TITLES } from '../../domain/systems.ts';
import {
  findPenaltySource,
  forgetPenaltySource,
  hasPenaltiesOf,
  type PenaltySource,
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
 * @throws {OtherSource} when the saved origin is another database.
 */
export async function claimSource(
  db: Db,
  source: PenaltySource,
  { isDryRun, replaces }: { isDryRun: boolean; replaces: boolean },
): Promise<void> {
  const savedSource = await findPenaltySource(db, source.name);
  if (Bun.deepEquals(savedSource, source)) return;
  if (savedSource && !replaces) {
    if (await hasPenaltiesOf(db, source.name)) {
      throw new OtherSource(describe(savedSource), describe(source), source.name);
    }
    // Server ids of another database stand for other servers.
    if (!isDryRun) await forgetPenaltySource(db, source.name);
  }
  if (!isDryRun) await savePenaltySource(db, source);
}

function describe({ kind, address, prefix }: PenaltySource): string {
  const where = address === '' ? '' : ` at ${address}`;
  const title = kind === 'ndjson' ? 'lines of JSON' : SYSTEM_TITLES[kind];
  return `${title}${where}${prefix === '' ? '' : ` (prefix ${prefix})`}`;
}
