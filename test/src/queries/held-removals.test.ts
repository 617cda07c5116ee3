import { beforeEach, describe, expect, test } from 'bun:test';
import { inTransaction } from '../../../src/db/client.ts';
import { userFlags } from '../../../src/db/schema/accounts.ts';
import { heldRemovals } from '../../../src/db/schema/held-removals.ts';
import { settings } from '../../../src/db/schema/settings.ts';
import type { FlagMapping } from '../../../src/domain/rights/user-flags.ts';
import { listAuditEntries } from '../../../src/queries/audit-log.ts';
import {
  acceptHeldRemovals,
  areRemovalsAccepted,
  listHeldRemovals,
} from '../../../src/queries/held-removals.ts';
import { endFlagsOfOthers, saveGuardedFlagRound } from '../../../src/queries/users/user-flags.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';

const { db } = await createTestDatabase();
const NOW = new Date('2026-11-25T12:00:00Z');
const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
const MAPPING: FlagMapping = [{ flag: 'has_svip', permissions: ['VIP'] }];

beforeEach(async () => {
  for (const table of [heldRemovals, userFlags, settings]) await db.delete(table);
});

/** What VIPCore reads: `has_svip` for this many players, of which the first has this number. */
type Round = { first?: number; now?: Date; mapping?: FlagMapping; endsAt?: Date | null };

/** Saves a round of VIPCore in which this many players are VIPs. */
async function saveVips(
  players: number,
  { first = 1, now = NOW, mapping = MAPPING, endsAt = null }: Round = {},
) {
  const isAccepted = await areRemovalsAccepted(db, 'vipcore');
  const grants = Array.from({ length: players }, (_, index) => ({
    steamId64: aSteamId(first + index),
    flag: 'has_svip' as const,
    endsAt,
  }));
  return inTransaction(db, (tx) =>
    saveGuardedFlagRound(tx, 'vipcore', { grants, now }, { mapping, isAccepted }),
  );
}

/** Saves a round; returns how many have the flag afterwards. */
async function readVips(...round: Parameters<typeof saveVips>): Promise<number> {
  await saveVips(...round);
  return db.$count(userFlags);
}

describe('the guard of flags', () => {
  test.each([
    { had: 100, has: 49, isHeld: true },
    { had: 100, has: 50, isHeld: false },
    { had: 21, has: 0, isHeld: true },
    { had: 20, has: 0, isHeld: false },
  ])(
    'holds back losses of more than 20 people and more than half: $had to $has, $isHeld',
    async ({ had, has, isHeld }) => {
      await readVips(had);
      expect(await readVips(has)).toBe(isHeld ? had : has);
      const held = { system: 'vipcore', kind: 'flags', subject: 'has_svip', removals: had - has } as const;
      expect(await listHeldRemovals(db)).toEqual(isHeld ? [{ ...held, since: NOW, isAccepted: false }] : []);
    },
  );

  test('carries out losses that every round of six hours found', async () => {
    await readVips(30);
    expect(await readVips(3)).toBe(30);
    expect(await readVips(2, { now: later(359) })).toBe(30);
    expect(await listHeldRemovals(db)).toMatchObject([{ since: NOW, removals: 28 }]);
    expect(await readVips(2, { now: later(360) })).toBe(2);
    expect(await listHeldRemovals(db)).toEqual([]);
  });

  test('waits another six hours after a round that found no sudden loss', async () => {
    await readVips(30);
    await readVips(3);
    await readVips(30, { now: later(300) });
    expect(await listHeldRemovals(db)).toEqual([]);
    expect(await readVips(3, { now: later(400) })).toBe(30);
    expect(await listHeldRemovals(db)).toMatchObject([{ since: later(400) }]);
  });

  test('carries out losses in the next round after an operator accepted them', async () => {
    await readVips(30);
    await readVips(3);
    await expect(acceptHeldRemovals(db, 'iks', 'operator')).rejects.toThrow('nothing of iks is held back');
    expect(await areRemovalsAccepted(db, 'vipcore')).toBe(false);
    expect(await acceptHeldRemovals(db, 'vipcore', 'operator')).toEqual({ has_svip: 27 });
    expect(await listAuditEntries(db, { action: 'removals.accepted' })).toMatchObject([
      { subject: 'vipcore', details: { has_svip: 27 } },
    ]);
    expect(await readVips(2)).toBe(2);
    expect(await areRemovalsAccepted(db, 'vipcore')).toBe(false);
  });

  test('carries out losses at once when the permissions of that flag changed', async () => {
    await readVips(30);
    await readVips(3);
    const other: FlagMapping = [...MAPPING, { flag: 'is_serviceplus', permissions: ['VIP'] }];
    expect(await readVips(3, { mapping: other })).toBe(30);
    expect(await readVips(3, { mapping: [{ flag: 'has_svip', permissions: ['SVIP'] }] })).toBe(3);
    expect(await listHeldRemovals(db)).toEqual([]);
  });

  test('gives new people their flags while it holds losses back', async () => {
    await readVips(30);
    expect(await saveVips(1, { first: 99 })).toEqual({ given: 1, taken: 0 });
    expect(await db.$count(userFlags)).toBe(31);
  });

  test('counts no flags whose time has run out', async () => {
    await readVips(30, { endsAt: later(1) });
    expect(await readVips(0, { now: later(1) })).toBe(0);
    expect(await listHeldRemovals(db)).toEqual([]);
  });

  test('forgets held losses of a system that is no longer configured', async () => {
    await readVips(30);
    await readVips(3);
    await endFlagsOfOthers(db, ['iks'], NOW);
    expect(await db.$count(userFlags)).toBe(0);
    expect(await listHeldRemovals(db)).toEqual([]);
  });
});
