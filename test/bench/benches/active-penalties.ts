import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listActivePenalties } from '../../../src/queries/penalties/active.ts';
import { formatMs, formatRatio, median, type Row } from '../bench.ts';
import type { Watched } from '../support/database-time.ts';

const CALLS = 300;
const WARM_UP_CALLS = 50;
const LIMIT = 20;
const MANY = 100;
/** How much dearer they may be than one player. */
const MOST = 5;

/** What is in force against 100 players at once, held against one player: database time, other players at each call. */
export async function measureActivePenalties(
  { db, readCpuMs }: Watched,
  { rows, now }: { rows: number; now: Date },
): Promise<Row> {
  const somebody = () =>
    String(76561197960265729n + BigInt(Math.floor((Math.random() * rows) / 5))) as SteamId64;
  const databaseMsOf = async (players: number) => {
    const ids = Array.from({ length: players }, somebody);
    const cpuMs = readCpuMs();
    await listActivePenalties(db, ids, { limit: LIMIT, now });
    return readCpuMs() - cpuMs;
  };
  const calls = { one: [] as number[], many: [] as number[] };
  for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
    const [one, many] = [await databaseMsOf(1), await databaseMsOf(MANY)];
    if (call < 0) continue;
    calls.one.push(one);
    calls.many.push(many);
  }
  const [one, many] = [median(calls.one), median(calls.many)];
  const isReached = many / one <= MOST;
  return {
    what: `active penalties of ${MANY} players: database time`,
    ours: formatMs(many),
    floor: `one player: ${formatMs(one)}`,
    ratio: formatRatio(many / one),
    target: `≤ ${MOST}×`,
    isReached,
    ...(!isReached && {
      note: 'one statement either way; the active records of 100 players lie on some 200 pages, those of one player on two',
    }),
  };
}
