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
    { had: 5, has: 0, isHeld: true },
    { had: 4, has: 0, isHeld: false },
  ])(
    'holds back losses of at least five people and more than half: $had to $has, $isHeld',
    async ({ had, has, isHeld }) => {
      await readVips(had);
      expect(await readVips(has)).toBe(isHeld ? had : has);
      const held = { system: 'vipcore', kind: 'flags', subject: 'has_svip', removals: had - has } as const;
      expect(await listHeldRemovals(db)).toEqual(
        isHeld ? [expect.objectContaining({ ...held, since: NOW })] : [],
      );
    },
  );

  /** Which rounds of a loss that began at 0 are held back, and after which the loss is carried out. */
  test.each<[string, held: number[], carriedOut: number]>([
    ['after six hours and four rounds', [1, 2, 3, 359], 360],
    ['not before four rounds after the first', [100, 200, 300, 361], 362],
    ['not more than two hours after the last round', [10, 20, 30, 40, 361], 362],
    ['after a day in which nothing was read, with four new rounds', [1440, 1441, 1442, 1443], 1444],
  ])('carries out losses %s', async (_, held, carriedOut) => {
    await readVips(30);
    for (const minute of [0, ...held]) expect(await readVips(2, { now: later(minute) })).toBe(30);
    expect(await listHeldRemovals(db)).toEqual([expect.objectContaining({ since: NOW, removals: 28 })]);
    expect(await readVips(2, { now: later(carriedOut) })).toBe(2);
    expect(await listHeldRemovals(db)).toEqual([]);
  });

  test('a loss that has grown by more than a tenth is held back for another six hours', async () => {
    await readVips(100);
    for (const minute of [0, 60, 120, 180, 240]) await readVips(40, { now: later(minute) });
    expect(await readVips(34, { now: later(300) })).toBe(100);
    expect(await listHeldRemovals(db)).toEqual([expect.objectContaining({ since: NOW, removals: 66 })]);
    expect(await readVips(33, { now: later(350) })).toBe(100);
    expect(await readVips(33, { now: later(400) })).toBe(100);
    expect(await listHeldRemovals(db)).toEqual([
      expect.objectContaining({ since: later(350), removals: 67 }),
    ]);
  });

  test('a loss stays held back when half as many people gain the flag meanwhile', async () => {
    await readVips(30);
    await readVips(0);
    expect(await readVips(40, { first: 100, now: later(60) })).toBe(70);
    expect(await listHeldRemovals(db)).toEqual([expect.objectContaining({ since: NOW, removals: 30 })]);
  });

  test('waits another six hours after a round that found no sudden loss', async () => {
    await readVips(30);
    await readVips(3);
    await readVips(30, { now: later(300) });
    expect(await listHeldRemovals(db)).toEqual([]);
    expect(await readVips(3, { now: later(400) })).toBe(30);
    expect(await listHeldRemovals(db)).toEqual([expect.objectContaining({ since: later(400) })]);
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
