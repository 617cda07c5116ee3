import { describe, expect, spyOn, test } from 'bun:test';
import { connect } from 'node:net';
import { eq, inArray } from 'drizzle-orm';
import { en } from '../../../../../api/web/locales/en.ts';
import { inTransaction } from '../../../../../src/db/client.ts';
import { staffNotes, users } from '../../../../../src/db/schema/accounts.ts';
import { webhooks } from '../../../../../src/db/schema/webhooks.ts';
import { Unavailable } from '../../../../../src/domain/errors.ts';
import { deleteSessionsOf } from '../../../../../src/queries/users/sessions.ts';
import { blockUser } from '../../../../../src/queries/users/users.ts';
import { REQUEST_LIMIT_MS } from '../../../../../src/runtime/request.ts';
import { aSteamId, erase, insertUser } from '../../../../support/database/builders.ts';
import { countWaiting } from '../../../../support/database/lock-waits.ts';
import { waitFor } from '../../../../support/wait.ts';
import type { Browser, Page } from '../../../../support/web/browser.ts';
import { openModeration } from '../../../../support/web/moderation.ts';

/** The next result of the limit of forms; undefined: it allows everything. */
let refuse: (() => { isAllowed: boolean; resetSeconds: number }) | undefined;
const take = () => refuse?.() ?? { isAllowed: true, resetSeconds: 60 };
/** Lookups of sessions that have begun. */
let lookups = 0;
const countLookup = () => {
  lookups += 1;
  return { isAllowed: true, resetSeconds: 60 };
};
const limits = { forms: { take }, sessions: { take: countLookup } };
const { db, site, as, userOf } = await openModeration({ limits });

describe('every POST', () => {
  const paths = ['tokens', 'sign-out', 'sign-out-everywhere', 'discord/unlink'];

  test('needs the CSRF token of its session', async () => {
    const browser = await as(501);
    const foreign = (await (await as(502)).get('/account')).field('csrf_token') ?? '';
    for (const path of paths) {
      for (const token of ['', 'x', foreign]) {
        const page = await browser.post(`/account/${path}`, { name: 'x', csrf_token: token });
        expect([path, token, page.status]).toEqual([path, token, 403]);
      }
    }
    expect((await browser.get('/account')).text).toContain(aSteamId(501));
  });

  test('a form from another site is refused although its token is right', async () => {
    const browser = await as(501);
    for (const from of ['cross-site', 'same-site', 'none']) {
      const page = await browser.post('/account/sign-out', {}, { 'sec-fetch-site': from });
      expect([from, page.status]).toEqual([from, 403]);
    }
    const sameOrigin = await browser.post('/account/sign-out', {}, { 'sec-fetch-site': 'same-origin' });
    expect(sameOrigin.status).toBe(303);
  });

  test('a form whose sender aborts it is not logged as a failure', async () => {
    const browser = await as(501);
    const logged = site.log.length;
    for (const framing of ['Content-Length: 1000\r\n\r\n', 'Transfer-Encoding: chunked\r\n\r\nff\r\n']) {
      await waitFor(() => site.countPending() === 0);
      const socket = connect(Number(new URL(site.origin).port), '127.0.0.1');
      const head = `POST /account/tokens HTTP/1.1\r\nHost: x\r\nCookie: session=${browser.cookies.get('session')}\r\n`;
      await new Promise<void>((sent) => socket.write(`${head}${framing}name=half a na`, () => sent()));
      await waitFor(() => site.countPending() === 1);
      socket.destroy();
      await waitFor(() => site.countPending() === 0);
    }
    // Once another request is answered, the broken ones have been handled too.
    expect((await browser.get('/account')).status).toBe(200);
    expect(site.log.slice(logged)).toEqual([]);
  });

  test('a form that is large, of another type, or repeats a field is refused', async () => {
    const browser = await as(501);
    const token = (await browser.get('/account')).field('csrf_token') ?? '';
    const cookie = `session=${browser.cookies.get('session')}`;
    const send = (body: string, type = 'application/x-www-form-urlencoded') =>
      fetch(`${site.origin}/account/sign-out`, {
        method: 'POST',
        body,
        redirect: 'manual',
        headers: { cookie, 'content-type': type },
      });
    expect((await send(`csrf_token=${token}&x=${'x'.repeat(40_000)}`)).status).toBe(400);
    expect((await send(JSON.stringify({ csrf_token: token }), 'application/json')).status).toBe(400);
    expect((await send(`csrf_token=${token}&csrf_token=${token}`)).status).toBe(400);
    expect((await send(`csrf_token=${token}`)).status).toBe(303);
  });
});

/** Sends a form whose end arrives only after something has changed. */
async function postSlowly(
  browser: Browser,
  path: string,
  { form, meanwhile }: { form: Record<string, string>; meanwhile: () => Promise<unknown> },
) {
  const token = (await browser.get('/account')).field('csrf_token') ?? '';
  const text = String(new URLSearchParams({ csrf_token: token, ...form }));
  const rest = Promise.withResolvers<string>();
  await waitFor(() => site.countPending() === 0);
  const before = lookups;
  const body = async function* () {
    yield Buffer.from(text.slice(0, 10));
    yield Buffer.from(await rest.promise);
  };
  const response = fetch(`${site.origin}${path}`, {
    method: 'POST',
    body: body(),
    redirect: 'manual',
    headers: {
      cookie: `session=${browser.cookies.get('session')}`,
      'content-type': 'application/x-www-form-urlencoded',
    },
  });
  await waitFor(() => site.countPending() === 1);
  expect(lookups).toBe(before);
  await meanwhile();
  rest.resolve(text.slice(10));
  return response;
}

const setFlags = (numbers: number[], flags: Partial<typeof users.$inferInsert>) =>
  db
    .update(users)
    .set(flags)
    .where(inArray(users.steamId64, numbers.map(aSteamId)));

let lastAdmin = 49;
test.each<[change: string, status: number, meanwhile: (number: number) => Promise<unknown>]>([
  ['its sender is no admin any more', 403, (number) => setFlags([number], { isAdmin: false })],
  [
    'its sender was blocked',
    403,
    (number) => blockUser(db, aSteamId(number), { reason: 'abuse', now: new Date(), actor: 'operator' }),
  ],
  ['its session ended', 401, async (number) => deleteSessionsOf(db, await userOf(number))],
  ['its account was erased', 401, (number) => erase(db, aSteamId(number))],
])('a form does nothing when %s while it arrived', async (_, status, meanwhile) => {
  lastAdmin += 1;
  const number = lastAdmin;
  await insertUser(db, number, { isAdmin: true });
  const response = await postSlowly(await as(number), '/account/moderation/webhooks', {
    form: { url: 'https://example.org/hook', 'penalty.created': 'on', form_id: crypto.randomUUID() },
    meanwhile: () => meanwhile(number),
  });
  expect(response.status).toBe(status);
  expect(await db.select().from(webhooks)).toEqual([]);
});

test('a form whose body arrives later than the database deadline of a request is processed', async () => {
  await insertUser(db, 80, { isAdmin: true });
  const now = performance.now.bind(performance);
  let clock: ReturnType<typeof spyOn> | undefined;
  const response = await postSlowly(await as(80), '/account/moderation/webhooks', {
    form: { url: 'https://example.org/late', 'penalty.created': 'on', form_id: crypto.randomUUID() },
    meanwhile: async () => {
      clock = spyOn(performance, 'now').mockImplementation(() => now() + REQUEST_LIMIT_MS);
    },
  });
  clock?.mockRestore();
  expect(response.status).toBe(200);
  await db.delete(webhooks);
});

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
  await inTransaction(db, async (tx) => {
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
    [70, 71, [71]],
    [72, 73, [72, 73]],
  ] as const) {
    for (const number of [one, other]) await insertUser(db, number, { isOwner: true });
    const forms = [removeOwner(await as(one), other), removeOwner(await as(other), one)];
    expect(await postWhileLocked([...locked], { forms })).toEqual([303, 403]);
    expect([(await userOf(one)).isOwner, (await userOf(other)).isOwner]).toEqual([true, false]);
  }
});

test('two admins who block each other leave one unblocked', async () => {
  for (const number of [74, 75]) await insertUser(db, number, { isAdmin: true });
  const forms = [
    { from: await as(74), about: 75, action: 'block' },
    { from: await as(75), about: 74, action: 'block' },
  ];
  expect(await postWhileLocked([74, 75], { forms })).toEqual([303, 403]);
  expect([(await userOf(74)).blockedAt, (await userOf(75)).blockedAt]).toEqual([null, expect.any(Date)]);
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
    meanwhile: () => setFlags([62, 63], { isAdmin: false }),
  });
  expect(statuses).toEqual([403, 403]);
  expect([(await userOf(60)).blockedAt, (await userOf(61)).blockedAt]).toEqual([null, blockedAt]);
});

describe('a text that was not processed', () => {
  const PLAYER = aSteamId(601);
  const path = `/account/moderation/users/${PLAYER}/notes`;
  const text = 'Two lines,\n<of> a note';
  const shown = `<textarea name="text" rows="6" aria-label="${en.unsent.title}">\nTwo lines,\n&lt;of&gt; a note</textarea>`;
  const countNotes = () => db.$count(staffNotes, eq(staffNotes.steamId64, PLAYER));
  /** The fields of the form as its page sends them. */
  async function writeNote(number: number) {
    await insertUser(db, number, { isAdmin: true });
    const browser = await as(number);
    const page = await browser.get(`/account/moderation/users/${PLAYER}`);
    return {
      browser,
      form: { form_id: page.field('form_id') ?? '', sender: page.field('sender') ?? '', text },
    };
  }

  test.each<[status: number, refusal: () => { isAllowed: boolean; resetSeconds: number }]>([
    [429, () => ({ isAllowed: false, resetSeconds: 60 })],
    [
      503,
      () => {
        throw new Unavailable('out of reach');
      },
    ],
  ])(
    'the note of a refused form is shown after a %s, and is sent once by a button',
    async (status, refusal) => {
      const { browser, form } = await writeNote(600 + status);
      const before = await countNotes();
      refuse = refusal;
      const page = await browser.post(path, form);
      refuse = undefined;
      expect([page.status, page.text.includes(shown)]).toEqual([status, true]);
      expect([page.field('form_id'), page.field('sender')]).toEqual([form.form_id, form.sender]);
      for (let sent = 0; sent < 2; sent++) expect((await browser.post(path, form)).status).toBe(303);
      expect(await countNotes()).toBe(before + 1);
    },
  );

  test('a note whose session ended is shown again, and the next session of the same person can send it', async () => {
    const { browser, form } = await writeNote(602);
    const before = await countNotes();
    const token = (await browser.get('/account')).field('csrf_token') ?? '';
    await deleteSessionsOf(db, await userOf(602));
    const page = await browser.post(path, { ...form, csrf_token: token });
    expect([page.status, page.text.includes(shown)]).toEqual([401, true]);
    expect(page.text).toContain('target="_blank"');
    const refused = await (await as(602)).post(path, { ...form, csrf_token: token });
    expect([refused.status, refused.text.includes(shown)]).toEqual([403, true]);
    expect(refused.text).toContain(en.unsent.again);
    expect(await countNotes()).toBe(before);
  });

  test('a note that somebody else wrote can only be copied', async () => {
    const { form } = await writeNote(603);
    await insertUser(db, 604, { isAdmin: true });
    const page = await (await as(604)).post(path, { ...form, csrf_token: 'of-another-session' });
    expect(page.status).toBe(403);
    expect(page.text).toContain('readonly');
    expect(page.text).toContain(en.unsent.notTheirs);
    expect(page.text).not.toContain(en.unsent.again);
  });
});
