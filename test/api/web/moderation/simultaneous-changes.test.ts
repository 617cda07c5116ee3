import { expect, test } from 'bun:test';
import { inArray } from 'drizzle-orm';
import { users } from '../../../../src/db/schema/accounts.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { countWaiting } from '../../../support/database/lock-waits.ts';
import { waitFor } from '../../../support/wait.ts';
import type { Browser, Page } from '../../../support/web/browser.ts';
import { openModeration } from '../../../support/web/moderation.ts';

const { db, as, userOf } = await openModeration();

type Form = { from: Browser; about: number; action: string; fields?: Record<string, string> };

/**
 * Sends the forms while the rows of some users are locked, each once the one before it waits or has a response.
 * @param meanwhile runs before the rows are released.
 * @returns the status of each response.
 */
async function postWhileLocked(
  locked: number[],
  { forms, meanwhile }: { forms: Form[]; meanwhile?: () => Promise<unknown> },
): Promise<number[]> {
  const pages: Promise<Page>[] = [];
  await db.transaction(async (tx) => {
    const ids = locked.map((number) => aSteamId(number));
    await tx.select().from(users).where(inArray(users.steamId64, ids)).for('no key update');
    let responses = 0;
    for (const { from, about, action, fields } of forms) {
      const sent = from.post(`/account/moderation/users/${aSteamId(about)}/${action}`, fields);
      pages.push(sent.finally(() => responses++));
      await waitFor(async () => responses + (await countWaiting(db)) === pages.length);
    }
    await meanwhile?.();
  });
  return (await Promise.all(pages)).map(({ status }) => status);
}

const removeOwner = (from: Browser, about: number): Form => ({
  from,
  about,
  action: 'flags',
  fields: { shown_flags: 'isOwner' },
});

test('two owners who remove each other leave one', async () => {
  for (const [one, other, locked] of [
    [50, 51, [51]],
    [52, 53, [52, 53]],
  ] as const) {
    for (const number of [one, other]) await insertUser(db, number, { isOwner: true });
    const forms = [removeOwner(await as(one), other), removeOwner(await as(other), one)];
    expect(await postWhileLocked([...locked], { forms })).toEqual([303, 403]);
    expect([(await userOf(one)).isOwner, (await userOf(other)).isOwner]).toEqual([true, false]);
  }
});

test('two admins who block each other leave one unblocked', async () => {
  for (const number of [54, 55]) await insertUser(db, number, { isAdmin: true });
  const forms = [
    { from: await as(54), about: 55, action: 'block' },
    { from: await as(55), about: 54, action: 'block' },
  ];
  expect(await postWhileLocked([54, 55], { forms })).toEqual([303, 403]);
  expect([(await userOf(54)).blockedAt, (await userOf(55)).blockedAt]).toEqual([null, expect.any(Date)]);
});

test('somebody who stops being an admin while their form waits neither blocks nor unblocks', async () => {
  const blockedAt = new Date();
  await insertUser(db, 60);
  await insertUser(db, 61, { blockedAt });
  await insertUser(db, 62, { isAdmin: true });
  await insertUser(db, 63, { isAdmin: true });
  const forms = [
    { from: await as(62), about: 60, action: 'block' },
    { from: await as(63), about: 61, action: 'unblock' },
  ];
  const statuses = await postWhileLocked([60, 61], {
    forms,
    meanwhile: () =>
      db
        .update(users)
        .set({ isAdmin: false })
        .where(inArray(users.steamId64, [aSteamId(62), aSteamId(63)])),
  });
  expect(statuses).toEqual([403, 403]);
  expect([(await userOf(60)).blockedAt, (await userOf(61)).blockedAt]).toEqual([null, blockedAt]);
});
