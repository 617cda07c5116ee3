import { connect } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listActivePenalties } from '../../../src/queries/penalties/active.ts';
import { type Bench, formatMs, formatRatio, median, type Row } from '../bench.ts';
import { watch } from '../support/database-time.ts';
import { type TokenHeaders, withDatasetService } from '../support/dataset-service.ts';

const CALLS = 200;
const WARM_UP_CALLS = 50;
const LIMIT = 20;
const MANY = 100;
/** How many times the cost of one player that of a hundred players may be. */
const MOST = 5;
const WHY_DEAR =
  'the rows are on distant pages: finding them takes half of the database time, reading and sending them the rest';

/**
 * The active penalties of 100 players at once, compared with those of one player. Players are drawn anew for each request:
 * once from everybody who has a record, as a forum's page would ask, and once from those with an active penalty, so that
 * a hundred have a hundred times the records of one.
 */
export const activePenalties: Bench = {
  name: 'active',
  title: 'penalties in force against 100 players, over HTTP, compared with one player',
  run: (options) =>
    withDatasetService(options, async ({ child, headers, databaseUrl }) => {
      const database = openDatabase(databaseUrl, { max: 1 });
      try {
        await readIntoMemory(databaseUrl);
        const rows: Row[] = [];
        for (const who of ['with a record', 'with something in force'] as const) {
          options.say(`players ${who}`);
          const drawn = await drawPlayers(database, who, options);
          const draw = (players: number) => drawn.splice(0, players);
          const requests = await measureBoth((players) =>
            measureRequest(
              `${child.origin}/api/v1/penalties/active?steamids=${draw(players).join(',')}`,
              headers,
            ),
          );
          const { db, readCpuMs } = await watch(database);
          const inDatabase = await measureBoth(async (players) => {
            const ids = draw(players);
            const cpuMs = readCpuMs();
            await listActivePenalties(db, ids, { limit: LIMIT, now: new Date() });
            return readCpuMs() - cpuMs;
          });
          rows.push(
            {
              ...toRow(`${MANY} players ${who}`, requests),
              target: `≤ ${MOST}×`,
              isReached: requests.many <= MOST * requests.one,
              ...(requests.many > MOST * requests.one && { note: WHY_DEAR }),
            },
            { ...toRow('… database time', inDatabase), target: 'for information', isReached: true },
          );
        }
        return rows;
      } finally {
        await database.close();
      }
    }),
};

/** Reads the table once, so that the query is measured and not the disk. */
async function readIntoMemory(databaseUrl: string): Promise<void> {
  const patient = connect(databaseUrl, { max: 1, statementTimeoutMs: 0 });
  await patient`select count(*) from penalties where reason <> ''`;
  await patient.end();
}

type Figures = { one: number; many: number };

/** Asks for one and for many in turn, so that a noisy moment falls on both. @returns medians, in milliseconds. */
async function measureBoth(measureMs: (players: number) => Promise<number>): Promise<Figures> {
  const calls = { one: [] as number[], many: [] as number[] };
  for (let call = -WARM_UP_CALLS; call < CALLS; call++) {
    const [one, many] = [await measureMs(1), await measureMs(MANY)];
    if (call < 0) continue;
    calls.one.push(one);
    calls.many.push(many);
  }
  return { one: median(calls.one), many: median(calls.many) };
}

async function measureRequest(url: string, headers: TokenHeaders): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  if (response.status !== 200) throw new Error(`penalties/active responded with ${response.status}`);
  return performance.now() - startedAt;
}

/** Different players for all requests of one kind, in no order. */
async function drawPlayers(
  { connection }: ReturnType<typeof openDatabase>,
  who: 'with a record' | 'with something in force',
  { rows: penaltyRows }: { rows: number },
): Promise<SteamId64[]> {
  const count = (WARM_UP_CALLS + CALLS) * 2 * (MANY + 1);
  const drawn = await connection<{ player: SteamId64 }[]>`
    select player from (
      select distinct player_steamid::text as player from penalties tablesample system (${Math.min((count * 1000) / penaltyRows, 100)}::float4)
      where player_steamid <> 0 and (${who === 'with a record'} or (status = 'ACTIVE' and ends_at is null))
    ) as drawn order by random() limit ${count}`;
  if (drawn.length < count) throw new Error(`only ${drawn.length} of ${count} players were drawn`);
  return drawn.map(({ player }) => player);
}

function toRow(what: string, { one, many }: Figures): Pick<Row, 'what' | 'ours' | 'floor' | 'ratio'> {
  return {
    what,
    ours: formatMs(many),
    floor: `one player: ${formatMs(one)}`,
    ratio: formatRatio(many / one),
  };
}
