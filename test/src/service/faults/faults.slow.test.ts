import { afterAll, expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openDatabase } from '../../../../src/db/database.ts';
import { createClients, type Seen } from '../../../support/faults/clients.ts';
import { FAULTS, HOLD_MS, type Hold } from '../../../support/faults/faults.ts';
import { setStage } from '../../../support/faults/stage.ts';
import { printTable, toSeconds } from '../../../support/faults/table.ts';

/** The table of all faults, to look at; not committed. */
const TABLE = fileURLToPath(new URL('../../../artifacts/faults.md', import.meta.url));
const LIMIT_MS = 600_000;
/** How long clients continue after the fault is over, until everything that was refused is accepted again. */
const AFTERWARDS_MS = 2000;

const stage = await setStage();
const clients = await createClients(stage.origin, stage.steam);
const rows: string[][] = [];

for (const fault of FAULTS) {
  const missing = fault.missing?.(stage);
  if (missing !== undefined) {
    console.warn(`NOT RUN: ${fault.name}, since there is no ${missing} here`);
    continue;
  }
  test(
    `nothing acknowledged is lost when ${fault.name}`,
    async () => {
      const meanwhile = { responses: 0, acknowledged: 0 };
      let normalAfterMs = 0;
      const seen = await clients.watch(async (soFar) => {
        const hold: Hold = async (work = () => Bun.sleep(HOLD_MS)) => {
          const before = { responses: countResponses(soFar), acknowledged: countAcknowledged(soFar) };
          await work();
          meanwhile.responses = countResponses(soFar) - before.responses;
          meanwhile.acknowledged = countAcknowledged(soFar) - before.acknowledged;
        };
        await fault.happen(stage, hold);
        const overMs = performance.now();
        await clients.waitUntilWell();
        normalAfterMs = performance.now() - overMs;
        await Bun.sleep(AFTERWARDS_MS);
      });
      const lost = await clients.countLost(seen);
      rows.push(toRow(fault.name, { seen, meanwhile, lost, normalAfterMs }));
      expect(seen.malformed).toEqual([]);
      expect(seen.statuses[500] ?? 0).toBe(0);
      if (!fault.endsService) expect(seen.unanswered).toEqual([]);
      expect(meanwhile.responses).toBeGreaterThan(0);
      if (fault.isWritable) expect(meanwhile.acknowledged).toBeGreaterThan(0);
      expect(countAcknowledged(seen)).toBeGreaterThan(0);
      expect(lost).toBe(0);
      await forgetTokens();
    },
    LIMIT_MS,
  );
}

afterAll(async () => {
  const head = [
    'fault',
    'responses',
    'of them 503',
    'unanswered',
    'malformed',
    'acknowledged',
    'lost',
    'responses meanwhile',
    'acknowledged meanwhile',
    'normal after (s)',
  ];
  const table = printTable(head, rows);
  await mkdir(fileURLToPath(new URL('.', `file://${TABLE}`)), { recursive: true });
  await Bun.write(TABLE, `${table}\n`);
});

type Figures = {
  seen: Seen;
  meanwhile: { responses: number; acknowledged: number };
  lost: number;
  normalAfterMs: number;
};

function toRow(name: string, { seen, meanwhile, lost, normalAfterMs }: Figures): string[] {
  const figures = [
    countResponses(seen),
    seen.statuses[503] ?? 0,
    seen.unanswered.length,
    seen.malformed.length,
    countAcknowledged(seen),
    lost,
    meanwhile.responses,
    meanwhile.acknowledged,
    toSeconds(normalAfterMs),
  ];
  return [name, ...figures.map(String)];
}

function countResponses({ statuses }: Seen): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

function countAcknowledged({ tokens, uploads }: Seen): number {
  return tokens.length + [...uploads.values()].reduce((sum, { accepted }) => sum + accepted.length, 0);
}

/** A member has ten tokens at most. */
async function forgetTokens(): Promise<void> {
  const { connection, close } = openDatabase(stage.postgres.url, { max: 1 });
  await connection`delete from api_tokens where id <> (select min(id) from api_tokens)`;
  await close();
}
