import type { Db } from '../db/client.ts';
import { findSetting, saveSetting } from '../queries/settings.ts';
import type { SourceSystem } from './source-system.ts';

/** The progress of the mirror, stored in the database so that it continues after a restart or in another process. */
export type MirrorState = {
  /** Identifies the source: with a new address the mirror starts from the beginning. */
  sourceHash: string;
  /** When every row was last read. */
  sweptAt: Date;
  /** The source's own clock, in Unix seconds, at the beginning of the last round. */
  sourceSeconds: number;
  /**
   * By table: the largest id read; the id up to which our active penalties were looked up; the id up to which the
   * source's active rows were compared.
   */
  tables: Record<string, { lastId: number; activeCursor: number; sourceCursor: number }>;
};

const keyOf = (kind: SourceSystem['kind']) => `mirror.${kind}`;

/** @returns undefined when this source was never mirrored. */
export async function loadMirrorState(
  db: Db,
  { kind, sourceHash }: { kind: SourceSystem['kind']; sourceHash: string },
): Promise<MirrorState | undefined> {
  const text = await findSetting(db, keyOf(kind));
  const state = text === undefined ? undefined : tryParseState(text);
  return state?.sourceHash === sourceHash ? state : undefined;
}

/** Replaces the saved state. */
export async function saveMirrorState(db: Db, kind: SourceSystem['kind'], state: MirrorState): Promise<void> {
  await saveSetting(db, keyOf(kind), JSON.stringify(state));
}

function tryParseState(text: string): MirrorState | undefined {
  try {
    const state = JSON.parse(text);
    const sweptAt = new Date(state.sweptAt);
    if (Number.isNaN(sweptAt.getTime()) || !Number.isFinite(state.sourceSeconds)) return undefined;
    const tables: MirrorState['tables'] = {};
    for (const [name, table] of Object.entries<Record<string, unknown>>(state.tables)) {
      const { lastId, activeCursor, sourceCursor = 0 } = table;
      tables[name] = {
        lastId: Number(lastId),
        activeCursor: Number(activeCursor),
        sourceCursor: Number(sourceCursor),
      };
    }
    return { sourceHash: String(state.sourceHash), sweptAt, sourceSeconds: state.sourceSeconds, tables };
  } catch {
    return undefined;
  }
}
