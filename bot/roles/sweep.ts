import type { FlagMapping } from '../../src/domain/rights/user-flags.ts';
import {
  addLinkedMembers,
  endSweep,
  isMemberDue,
  markEverybody,
  SWEEP_SETTING,
} from '../../src/queries/discord/members.ts';
import { areRemovalsAccepted } from '../../src/queries/held-removals.ts';
import { findJsonSetting, saveSetting } from '../../src/queries/settings.ts';
import type { BotContext } from '../context.ts';

/** Sweeps: within each hour, the roles of every member are read once. */
type Sweep = {
  /** Begins a sweep where none is under way, and after a change of guild or mapping: everybody is due at once. */
  check: () => Promise<void>;
  /** Ends the sweep under way when nobody of it is due any more. */
  endIfDone: () => Promise<void>;
};

export function createSweep(
  { db, now, timings }: Pick<BotContext, 'db' | 'now' | 'timings'>,
  { guildId, mapping }: { guildId: string; mapping: FlagMapping },
): Sweep {
  const { roleSweepMs: sweepMs } = timings;
  const key = JSON.stringify({ guildId, mapping });
  /** `isAccepted`: what is held back is carried out at its end. */
  let current: { endsAt: Date; isAccepted: boolean } | undefined;

  /** @returns undefined when none is stored for this guild and mapping. */
  async function findStored(): Promise<typeof current> {
    const stored = await findJsonSetting<{ key: string; endsAt: string }>(
      db,
      SWEEP_SETTING,
      ({ endsAt = '' }) => !Number.isNaN(Date.parse(endsAt)),
    );
    if (stored?.key !== key) return undefined;
    await addLinkedMembers(db);
    return { endsAt: new Date(stored.endsAt), isAccepted: false };
  }

  async function begin(isAccepted: boolean): Promise<NonNullable<typeof current>> {
    await saveSetting(db, SWEEP_SETTING, JSON.stringify({ key }));
    await addLinkedMembers(db);
    const endsAt = now();
    await markEverybody(db, endsAt);
    return { endsAt, isAccepted };
  }

  return {
    check: async () => {
      const isAccepted = await areRemovalsAccepted(db, 'discord');
      current ??= await findStored();
      // Due more than a sweep from now: the clock was wrong.
      const isTooLong = current && current.endsAt.getTime() - now().getTime() > sweepMs;
      if (!current || isTooLong || (isAccepted && !current.isAccepted)) current = await begin(isAccepted);
    },
    endIfDone: async () => {
      if (!current || current.endsAt > now() || (await isMemberDue(db, current.endsAt))) return;
      const { isAccepted } = current;
      const endsAt = new Date(now().getTime() + sweepMs);
      const nextSweep = JSON.stringify({ key, endsAt });
      await endSweep(db, { mapping, isAccepted, nextSweep, now: now() });
      current = { endsAt, isAccepted: false };
      await addLinkedMembers(db);
    },
  };
}
