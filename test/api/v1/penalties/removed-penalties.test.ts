import { expect, test } from 'bun:test';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { tallyDifferences } from '../../../support/database/tallies.ts';
import { NOW, openTestApi } from '../../../support/service/service.ts';

const { db, connection, get } = await openTestApi();
const PLAYER = aSteamId(61);
const ENDS = new Date(NOW.getTime() + 3_600_000);

/** Marks penalties as gone at their source, with the statement of version 1.0.0. */
const mark = (ids: number[]) =>
  connection`update penalties set gone_at = ${NOW.toISOString()} where id in ${connection(ids)}`;
type Body = { data: Record<string, unknown> & { type: string }[]; meta: { cursor: string; total: number } };
const ask = async (path: string) => (await get(path)).body as Body;
const read = async (path: string) => (await ask(path)).data;

test('a penalty in force is lifted when it is marked as removed, and in force again once it is back', async () => {
  const rows = await insertPenalties(db, [
    { type: 'ban', playerSteamId: PLAYER },
    { type: 'mute', playerSteamId: PLAYER, durationMinutes: 120, endsAt: ENDS },
    { type: 'gag', playerSteamId: PLAYER, durationMinutes: 60, endsAt: NOW },
    { type: 'warn', playerSteamId: PLAYER, status: 'EXPIRED' },
  ]);
  const ids = rows.map(({ id }) => id);
  expect(await read(`/penalties/active?steamids=${PLAYER}`)).toMatchObject([
    { is_banned: true, is_muted: true },
  ]);
  const cursor = (await ask('/penalties/changes')).meta.cursor;
  await mark(ids);

  const lifted = { at: '2026-11-21T10:00:00+00:00', admin_name: null, admin_steamid: '0', reason: null };
  const states = await Promise.all(ids.map((id) => read(`/penalties/${id}`)));
  expect(states).toMatchObject([
    { status: 'UNBANNED', is_removed: true, lifted },
    { status: 'UNBANNED', is_removed: true, lifted },
    { status: 'EXPIRED', is_removed: true, lifted: null },
    { status: 'EXPIRED', is_removed: true, lifted: null },
  ]);
  expect(await read(`/penalties/active?steamids=${PLAYER}`)).toMatchObject([
    { is_muted: false, penalties: [] },
  ]);
  expect((await ask(`/penalties?steamid=${PLAYER}&status=UNBANNED`)).meta.total).toBe(2);
  const typesSince = async () => (await read(`/penalties/changes?cursor=${cursor}`)).map(({ type }) => type);
  expect(await typesSince()).toEqual(Array(4).fill('penalty.removed'));
  expect(await tallyDifferences(connection)).toEqual([]);

  await connection`update penalties set gone_at = null, status = 'ACTIVE', lifted_at = null where id = ${ids[0] ?? 0}`;
  expect(await read(`/penalties/${ids[0]}`)).toMatchObject({
    status: 'ACTIVE',
    is_removed: false,
    lifted: null,
  });
  expect((await typesSince()).at(-1)).toBe('penalty.changed');
});
