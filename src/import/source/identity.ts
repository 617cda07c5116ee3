import type { Db } from '../../db/client.ts';
import type { PENALTY_SOURCE_KINDS } from '../../db/schema/penalty-sources.ts';
import { Conflict } from '../../domain/errors.ts';
import {
  findPenaltySource,
  forgetPenaltySource,
  hasPenaltiesOf,
  type PenaltySource,
  savePenaltySource,
} from '../../queries/penalties/sources.ts';

/** The penalties under a source's name came from another database: importing this one would overwrite them. */
export class OtherSource extends Conflict {
  override name = 'OtherSource';

  constructor(
    /** What the name stands for so far, in words. */
    readonly known: string,
    /** What was to be imported. */
    readonly given: string,
    source: string,
  ) {
    super(
      `${source} is ${known} so far, and this is ${given}: give --source NAME to import it beside that one, ` +
        'or --replace-source if it is that one at a new address',
    );
  }
}

/**
 * Remembers what a source is the first time, and compares it from then on. A name that no penalty bears is free. Called
 * with the source's lock held.
 * @param replaces the source stays the same one, at this new address.
 * @throws {OtherSource} for another database than the one remembered.
 */
export async function claimSource(
  db: Db,
  source: PenaltySource,
  { isDryRun, replaces }: { isDryRun: boolean; replaces: boolean },
): Promise<void> {
  const known = await findPenaltySource(db, source.name);
  if (known && isSame(known, source)) return;
  if (known && !replaces) {
    if (await hasPenaltiesOf(db, source.name)) {
      throw new OtherSource(describe(known), describe(source), source.name);
    }
    // The ids of another database mean other servers.
    if (!isDryRun) await forgetPenaltySource(db, source.name);
  }
  if (!isDryRun) await savePenaltySource(db, source);
}

function isSame(one: PenaltySource, other: PenaltySource): boolean {
  return one.kind === other.kind && one.address === other.address && one.prefix === other.prefix;
}

const SYSTEMS: Record<(typeof PENALTY_SOURCE_KINDS)[number], string> = {
  simpleadmin: 'CS2-SimpleAdmin',
  sourcebans: 'SourceBans++',
  iks: 'IKS Admin',
  ndjson: 'lines of JSON',
};

function describe({ kind, address, prefix }: PenaltySource): string {
  const where = address === '' ? '' : ` at ${address}`;
  return `${SYSTEMS[kind]}${where}${prefix === '' ? '' : ` (prefix ${prefix})`}`;
}
