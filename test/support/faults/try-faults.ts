import { expect, test } from 'bun:test';
import { openDatabase } from '../../../src/db/database.ts';
import { createClients, type Seen } from './clients.ts';
import { type Fault, HOLD_MS, type Hold } from './faults.ts';
import { type Stage, setStage } from './stage.ts';

const LIMIT_MS = 600_000;
/** How long clients continue after the fault is over, until everything that was refused is accepted again. */
const AFTERWARDS_MS = 2000;

/** Declares a test for each fault: what the service acknowledged before and meanwhile is there afterwards. */
export async function tryFaults(faults: readonly Fault[]): Promise<void> {
  const stage = await setStage();
  const clients = await createClients(stage.origin, stage.steam);
  for (const fault of faults) {
    const missing = fault.missing?.(stage);
    if (missing !== undefined) {
      // A missing right, such as tracing in a container, is not something that CI can install.
      if (process.env.CI && !missing.startsWith('right to')) throw new Error(`${missing} is missing`);
      console.warn(`NOT RUN: ${fault.name}, since there is no ${missing} here`);
      continue;
    }
    test(
      `nothing acknowledged is lost when ${fault.name}`,
      async () => {
        const meanwhile = { responses: 0, acknowledged: 0 };
        const seen = await clients.watch(async (soFar) => {
          const hold: Hold = async (work = () => Bun.sleep(HOLD_MS)) => {
            const before = { responses: countResponses(soFar), acknowledged: countAcknowledged(soFar) };
            await work();
            meanwhile.responses = countResponses(soFar) - before.responses;
            meanwhile.acknowledged = countAcknowledged(soFar) - before.acknowledged;
          };
          await fault.happen(stage, hold);
          await clients.waitUntilWell();
          await Bun.sleep(AFTERWARDS_MS);
        });
        expect(seen.malformed).toEqual([]);
        expect(seen.statuses[500] ?? 0).toBe(0);
        if (!fault.endsService) expect(seen.unanswered).toEqual([]);
        expect(meanwhile.responses).toBeGreaterThan(0);
        if (fault.isWritable) expect(meanwhile.acknowledged).toBeGreaterThan(0);
        expect(countAcknowledged(seen)).toBeGreaterThan(0);
        expect(await clients.countLost(seen)).toBe(0);
        await forgetTokens(stage);
      },
      LIMIT_MS,
    );
  }
}

function countResponses({ statuses }: Seen): number {
  return Object.values(statuses).reduce((sum, count) => sum + count, 0);
}

function countAcknowledged({ tokens, uploads }: Seen): number {
  return tokens.length + [...uploads.values()].reduce((sum, { accepted }) => sum + accepted.length, 0);
}

/** A member has ten tokens at most. */
async function forgetTokens({ postgres }: Stage): Promise<void> {
  const { connection, close } = openDatabase(postgres.url, { max: 1 });
  await connection`delete from api_tokens where id <> (select min(id) from api_tokens)`;
  await close();
}
