import { beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { users } from '../../../../src/db/schema/accounts.ts';
import { appealMessages, appeals, erasedAppeals } from '../../../../src/db/schema/appeals.ts';
import { penalties, penaltyEvents } from '../../../../src/db/schema/penalties.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { listEarlierAppeals } from '../../../../src/queries/appeals/limits.ts';
import { settleAppeals } from '../../../../src/queries/appeals/settling.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { deleteOldRows } from '../../../../src/queries/retention.ts';
import { aSteamId, erase, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { readPerson } from '../../../support/database/person-export.ts';
import { type Browser, openBrowser } from '../../../support/web/browser.ts';
import { textOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

type PenaltyValues = Partial<typeof penalties.$inferInsert>;

const { db, site, startSite, signedIn } = await openUserSite({ settings: { appeals: { againDays: 30 } } });
const { appeals: t, notices, errors } = en;
const { origin } = site;
const QUEUE = '/account/moderation/appeals';
const TEXT = 'I was not cheating: here is a demo of the round.';
const NOW = new Date();
const DAY_MS = 86_400_000;
const inHours = (hours: number) => new Date(NOW.getTime() + hours * 3_600_000);
const [ADMIN, MODERATOR, ISSUER] = [901, 902, 903];
let admin: Browser;
let moderator: Browser;
let lastPlayer = 2000;

beforeAll(async () => {
  await insertUser(db, ADMIN, { nickname: 'Szef', isAdmin: true });
  await insertUser(db, MODERATOR, { nickname: 'Moderatorka', isModerator: true });
  await insertUser(db, ISSUER, { nickname: 'Ala', isModerator: true });
  admin = await signedIn(ADMIN);
  moderator = await signedIn(MODERATOR);
});

/** A signed-in player with an active ban. */
async function aBannedPlayer(values: PenaltyValues = {}) {
  lastPlayer += 1;
  const number = lastPlayer;
  const steamId64 = aSteamId(number);
  const [ban] = await insertPenalties(db, [
    { playerSteamId: steamId64, playerName: `Banned ${number}`, adminSteamId: aSteamId(ISSUER), ...values },
  ]);
  const browser = await signedIn(number);
  return { number, steamId64, browser, penaltyId: ban?.id ?? 0 };
}

const appeal = (browser: Browser, penaltyId: number, form: Record<string, string> = {}) =>
  browser.post(`/account/penalties/${penaltyId}/appeal`, { text: TEXT, ...form });

/** Opens an appeal. @returns its id. */
async function openedBy({
  browser,
  penaltyId,
  form = {},
}: {
  browser: Browser;
  penaltyId: number;
  form?: Record<string, string>;
}): Promise<number> {
  const { location } = await appeal(browser, penaltyId, form);
  return Number(location.split('/').at(-1));
}

const decide = (browser: Browser, id: number, action: string, text = 'Because.') =>
  browser.post(`${QUEUE}/${id}`, { action, text });

const exportOf = (steamId64: SteamId64) => readPerson(db, steamId64, { actor: 'operator', now: NOW });

const stateOf = async (id: number) => (await db.select().from(appeals).where(eq(appeals.id, id)))[0];

const eventsOf = async (id: number) =>
  (await db.select().from(penaltyEvents).orderBy(penaltyEvents.id)).flatMap(({ type, data }) => {
    const { appeal: payload } = (data ?? {}) as { appeal?: { id: number } };
    return payload?.id === id ? [{ type, ...payload }] : [];
  });

describe('a player', () => {
  test('appeals against a penalty in force, once, and reads the conversation', async () => {
    const player = await aBannedPlayer();
    const account = await player.browser.get('/account');
    expect(account.text).toContain(`href="/account/penalties/${player.penaltyId}/appeal"`);
    const form = await player.browser.get(`/account/penalties/${player.penaltyId}/appeal`);
    const id = await openedBy({ ...player, form: { form_id: form.field('form_id') ?? '' } });
    const page = textOf((await player.browser.get(`/account/appeals/${id}`)).text);
    expect(page).toContain(TEXT);
    expect(page).toContain(t.states.undecided);
    const after = (await player.browser.get('/account')).text;
    expect(after).toContain(`href="/account/appeals/${id}"`);
    expect(textOf(after)).toContain(`${t.yours} ${t.states.undecided}`);
    expect(after).not.toContain(`href="/account/penalties/${player.penaltyId}/appeal"`);
    const second = await player.browser.follow(await appeal(player.browser, player.penaltyId));
    expect(textOf(second.text)).toContain(notices['appeal-undecided']);
    expect(await listEarlierAppeals(db, player.steamId64)).toHaveLength(1);
    const subject = { penalty_id: player.penaltyId, player_steamid: player.steamId64 };
    expect(await eventsOf(id)).toEqual([
      {
        type: 'appeal.opened',
        id,
        state: 'undecided',
        is_carried_out: false,
        waits_for: 'staff',
        by: 'player',
        ...subject,
      },
    ] as never);
  });

  test('a player is told how long an appeal may be, and keeps what they wrote', async () => {
    const player = await aBannedPlayer();
    for (const text of ['Please unban me now', '💥'.repeat(2001), '\u200b'.repeat(30)]) {
      const page = await appeal(player.browser, player.penaltyId, { text });
      expect(page.status).toBe(400);
      expect(textOf(page.text)).toContain(errors['appeal-text'](2000));
      expect(page.text).toContain(text);
    }
    expect((await appeal(player.browser, player.penaltyId, { text: '💥'.repeat(2000) })).status).toBe(303);
  });

  test('a player is offered and may send appeals only against their own penalties in force', async () => {
    const [player, other] = [await aBannedPlayer(), await aBannedPlayer()];
    expect((await appeal(player.browser, other.penaltyId)).status).toBe(404);
    expect((await player.browser.get(`/account/penalties/${other.penaltyId}/appeal`)).status).toBe(404);
    const lifted = await aBannedPlayer({ status: 'UNBANNED' });
    const gone = await aBannedPlayer({ goneAt: NOW });
    const over = await aBannedPlayer({ durationMinutes: 1, endsAt: new Date(NOW.getTime() - 60_000) });
    for (const { browser, penaltyId } of [lifted, gone, over]) {
      const form = `/account/penalties/${penaltyId}/appeal`;
      expect((await browser.get('/account')).text).not.toContain(form);
      const open = () => browser.get(form);
      for (const attempt of [open, () => appeal(browser, penaltyId)]) {
        const page = await browser.follow(await attempt());
        expect(textOf(page.text)).toContain(notices['appeal-not-in-force']);
      }
    }
  });

  test('a player has at most three undecided appeals, however many are sent at once', async () => {
    const player = await aBannedPlayer();
    const more = await insertPenalties(
      db,
      Array.from({ length: 4 }, () => ({ playerSteamId: player.steamId64, type: 'gag' as const })),
    );
    const targets = [player.penaltyId, ...more.map(({ id }) => id)];
    await player.browser.get(`/account/penalties/${player.penaltyId}/appeal`);
    const pages = await Promise.all(
      Array.from({ length: 20 }, (_, index) => appeal(player.browser, targets[index % 5] ?? 0)),
    );
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([303]));
    expect(await listEarlierAppeals(db, player.steamId64)).toHaveLength(3);
  });

  test('appeals again only some days after a denial, and never after an acceptance', async () => {
    const daysAgo = (days: number) => new Date(Date.now() - days * DAY_MS);
    const decidedAt = (id: number, at: Date) =>
      db.update(appeals).set({ decidedAt: at }).where(eq(appeals.id, id));
    const denied = await aBannedPlayer();
    const id = await openedBy(denied);
    await decide(moderator, id, 'denied');
    await decidedAt(id, daysAgo(29.9));
    const early = await denied.browser.follow(await appeal(denied.browser, denied.penaltyId));
    expect(textOf(early.text)).toContain(notices['appeal-denied']);
    await decidedAt(id, daysAgo(30));
    expect((await appeal(denied.browser, denied.penaltyId)).location).toMatch(/^\/account\/appeals\/\d+$/);

    const accepted = await aBannedPlayer();
    const acceptedId = await openedBy(accepted);
    await decide(moderator, acceptedId, 'accepted');
    await decidedAt(acceptedId, daysAgo(3000));
    const never = await accepted.browser.follow(await appeal(accepted.browser, accepted.penaltyId));
    expect(textOf(never.text)).toContain(notices['appeal-accepted']);
  });

  test('a player may write 20 messages in an undecided appeal, and one more after each question', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const answer = () => player.browser.post(`/account/appeals/${id}`, { text: 'x' });
    for (let number = 2; number <= 20; number++)
      expect((await answer()).location).toBe(`/account/appeals/${id}`);
    const page = await answer();
    expect(page.status).toBe(409);
    expect(textOf(page.text)).toContain(errors['appeal-too-many-messages']);
    expect(page.text).not.toContain('name="text"');
    expect(await db.$count(appealMessages, eq(appealMessages.appealId, id))).toBe(20);
    expect((await eventsOf(id)).filter(({ type }) => type === 'appeal.answered')).toHaveLength(19);
    await decide(moderator, id, 'asked');
    expect((await answer()).location).toBe(`/account/appeals/${id}`);
    expect((await answer()).status).toBe(409);
    expect(await db.$count(appealMessages, eq(appealMessages.appealId, id))).toBe(22);
    await decide(moderator, id, 'denied');
    const late = await answer();
    expect([late.status, textOf(late.text).includes(errors['appeal-decided'])]).toEqual([409, true]);
  });

  test('a player withdraws an undecided appeal once, and may appeal again', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const withdraw = () => player.browser.post(`/account/appeals/${id}/withdraw`);
    const page = await player.browser.follow(await withdraw());
    expect(textOf(page.text)).toContain(notices['appeal-withdrawn']);
    expect(await stateOf(id)).toMatchObject({ state: 'closed', ending: 'withdrawn', waitsFor: null });
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'appeal.decided',
      state: 'closed',
      waits_for: null,
      by: 'player',
    } as never);
    const [entry] = await listAuditEntries(db, { whom: player.steamId64 });
    expect(entry).toMatchObject({ action: 'appeal.withdrawn', details: { appealId: id } });
    expect((await withdraw()).status).toBe(409);
    expect(textOf((await moderator.get(`${QUEUE}/${id}`)).text)).toContain(t.withdrawn);
    expect(await openedBy(player)).toBeGreaterThan(id);
  });

  test('a player opens at most five appeals in 24 hours, withdrawn ones included, and reads when the next is possible', async () => {
    const player = await aBannedPlayer();
    for (let count = 0; count < 5; count++) {
      const id = await openedBy(player);
      await player.browser.post(`/account/appeals/${id}/withdraw`);
    }
    const refused = await player.browser.follow(await appeal(player.browser, player.penaltyId));
    expect(textOf(refused.text)).toContain(notices['appeal-too-many-today']);
    expect(textOf(refused.text)).toContain(t.tooManyToday);
    await db
      .update(appeals)
      .set({ openedAt: inHours(-24) })
      .where(eq(appeals.playerSteamId, player.steamId64));
    expect(await openedBy(player)).toBeGreaterThan(0);
  });

  test('a player reads on every page that a question waits, with a link to answer it', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const isMarked = async (path: string) =>
      (await player.browser.get(path)).text.includes(`menu-mark">${en.shell.nav.question}<`);
    expect(await isMarked('/')).toBe(false);
    await decide(moderator, id, 'asked');
    for (const path of ['/', '/account', `/account/appeals/${id}`, '/servers/none'])
      expect(await isMarked(path)).toBe(true);
    const account = (await player.browser.get('/account')).text;
    expect(account).toContain(`<a href="/account/appeals/${id}">${t.questionWaits}</a>`);
    await player.browser.post(`/account/appeals/${id}`, { text: 'The third round.' });
    expect(await isMarked('/')).toBe(false);
    expect((await player.browser.get('/account')).text).not.toContain(t.questionWaits);
  });

  test('a penalty shows its player why they cannot appeal against it, and from which day they can', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    await decide(moderator, id, 'denied');
    const again = new Date((await stateOf(id))?.decidedAt?.getTime() ?? 0);
    again.setTime(again.getTime() + 30 * DAY_MS);
    for (const path of ['/account', `/account/appeals/${id}`]) {
      const { text } = await player.browser.get(path);
      expect(textOf(text)).toContain(t.againFrom);
      expect(text).toContain(`datetime="${again.toISOString()}"`);
    }
    const never = openBrowser(startSite({ settings: { appeals: { againDays: 0 } } }).origin);
    for (const [name, value] of player.browser.cookies) never.cookies.set(name, value);
    expect(textOf((await never.get('/account')).text)).toContain(t.neverAgain);
    const gags = await insertPenalties(
      db,
      Array.from({ length: 4 }, () => ({ playerSteamId: player.steamId64, type: 'gag' as const })),
    );
    for (const gag of gags.slice(0, 3)) await openedBy({ ...player, penaltyId: gag.id });
    expect(textOf((await player.browser.get('/account')).text)).toContain(notices['appeal-too-many']);
  });

  test('a player with a linked account chooses direct messages on the page of an appeal', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const path = `/account/appeals/${id}`;
    const choose = (form: Record<string, string>) => player.browser.post(`${path}/discord`, form);
    await choose({ discord: 'on' });
    expect((await stateOf(id))?.wantsMessages).toBe(false);
    await db
      .update(users)
      .set({ discordId: '80351110224678912' })
      .where(eq(users.steamId64, player.steamId64));
    const page = await player.browser.follow(await choose({ discord: 'on' }));
    expect(textOf(page.text)).toContain(notices['appeal-discord-on']);
    expect(page.text).toMatch(/name="discord"[^>]* checked/);
    expect((await stateOf(id))?.wantsMessages).toBe(true);
    await choose({});
    expect((await stateOf(id))?.wantsMessages).toBe(false);
    const other = await aBannedPlayer();
    expect((await other.browser.post(`${path}/discord`, { discord: 'on' })).status).toBe(404);
  });

  test('/appeal leads through sign-in to the form or the appeal of the only penalty in force', async () => {
    const guest = openBrowser(origin);
    const first = await guest.follow(await guest.get('/appeal'));
    expect(new URL(first.location, origin).searchParams.get('next')).toBe('/account/appeal');
    const player = await aBannedPlayer();
    const leadsTo = async (path: string) =>
      (await player.browser.follow(await player.browser.get(path))).location;
    const form = `/account/penalties/${player.penaltyId}/appeal`;
    expect(await leadsTo('/appeal')).toBe(form);
    expect(await leadsTo(`/appeal/${player.penaltyId}`)).toBe(form);
    const id = await openedBy(player);
    expect(await leadsTo('/appeal')).toBe(`/account/appeals/${id}`);
    expect(await leadsTo(`/appeal/${player.penaltyId}`)).toBe(`/account/appeals/${id}`);
    const [gag] = await insertPenalties(db, [{ playerSteamId: player.steamId64, type: 'gag' }]);
    expect(await leadsTo('/appeal')).toBe('/account#penalties');
    expect(await leadsTo(`/appeal/${gag?.id}`)).toBe(`/account/penalties/${gag?.id}/appeal`);
    await db
      .update(penalties)
      .set({ status: 'UNBANNED' })
      .where(eq(penalties.id, gag?.id ?? 0));
    expect(await leadsTo(`/appeal/${gag?.id}`)).toBe('/account#penalties');
    expect(textOf((await player.browser.get('/account')).text)).toContain(notices['appeal-not-in-force']);
    const other = await aBannedPlayer();
    const foreign = await player.browser.follow(await player.browser.get(`/appeal/${other.penaltyId}`));
    expect(foreign.status).toBe(404);
  });

  test('sees no appeal of somebody else, and no name of staff', async () => {
    const [player, other] = [await aBannedPlayer(), await aBannedPlayer()];
    const id = await openedBy(player);
    await decide(moderator, id, 'asked', 'Which round?');
    expect((await other.browser.get(`/account/appeals/${id}`)).status).toBe(404);
    expect((await other.browser.post(`/account/appeals/${id}`, { text: 'x' })).status).toBe(404);
    const page = (await player.browser.get(`/account/appeals/${id}`)).text;
    expect(textOf(page)).toContain('Which round?');
    expect(page).not.toContain('Moderatorka');
    expect(page).not.toContain(aSteamId(MODERATOR));
  });
});

describe('the staff', () => {
  test('each appeal is in the tab of whoever it waits for, the longest waiting first', async () => {
    const ids: number[] = [];
    const players: Awaited<ReturnType<typeof aBannedPlayer>>[] = [];
    for (let count = 0; count < 6; count++) {
      const player = await aBannedPlayer(count === 5 ? { endsAt: inHours(23), durationMinutes: 1440 } : {});
      players.push(player);
      ids.push(await openedBy(player));
    }
    const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, urgent = 0] = ids;
    const shownIn = async (query = '') => {
      const { text } = await moderator.get(`${QUEUE}${query}`);
      const shown = [...text.matchAll(/moderation\/appeals\/(\d+)"/g)].map((match) => Number(match[1]));
      return shown.filter((id) => ids.includes(id));
    };
    expect(await shownIn()).toEqual([urgent, first, second, third, fourth, fifth]);
    await decide(admin, third, 'asked');
    await decide(admin, second, 'asked');
    await decide(admin, first, 'denied');
    await decide(admin, fifth, 'accepted');
    await decide(admin, fourth, 'accepted');
    expect(await shownIn()).toEqual([urgent]);
    expect(await shownIn('?tab=player')).toEqual([third, second]);
    expect(await shownIn('?tab=lift')).toEqual([fifth, fourth]);
    expect(await shownIn('?tab=decided')).toEqual([first]);
    await players[1]?.browser.post(`/account/appeals/${second}`, { text: 'The second round.' });
    await players[2]?.browser.post(`/account/appeals/${third}`, { text: 'The third round.' });
    await decide(admin, urgent, 'denied');
    expect(await shownIn()).toEqual([second, third]);
    expect(await shownIn('?tab=decided')).toEqual([urgent, first]);
  });

  test("the list of appeals filters and counts by type and player, without the visitor's own", async () => {
    const [player, own] = [await aBannedPlayer({ playerName: 'Zdzisława' }), await aBannedPlayer()];
    await openedBy(player);
    const [gag] = await insertPenalties(db, [{ playerSteamId: player.steamId64, type: 'gag' }]);
    const gagId = await openedBy({ ...player, penaltyId: gag?.id ?? 0 });
    const ownId = await openedBy(own);
    await db.update(users).set({ isModerator: true }).where(eq(users.steamId64, own.steamId64));
    const countsOf = async (browser: Browser, query: string) => {
      const { text } = await browser.get(`${QUEUE}${query}`);
      const counts = [...text.matchAll(/class="tab-count">(\d+)</g)].map((match) => Number(match[1]));
      return { text, counts: counts.slice(-4) };
    };
    expect((await countsOf(moderator, '?player=zdzis%C5%82awa')).counts).toEqual([2, 0, 0, 0]);
    const gags = await countsOf(moderator, `?player=${player.steamId64}&type=gag`);
    expect(gags.counts).toEqual([1, 0, 0, 0]);
    expect(gags.text).toContain(`appeals/${gagId}"`);
    expect((await countsOf(moderator, `?player=${own.steamId64}`)).counts).toEqual([1, 0, 0, 0]);
    const seen = await countsOf(own.browser, `?player=${own.steamId64}`);
    expect(seen.counts).toEqual([0, 0, 0, 0]);
    expect(seen.text).not.toContain(`appeals/${ownId}"`);
    expect(textOf((await moderator.get(`${QUEUE}?player=${aSteamId(1)}&tab=lift`)).text)).toContain(
      t.none.lift,
    );
    expect((await moderator.get(`${QUEUE}?tab=nonsense&page=99`)).status).toBe(200);
  });

  test('asks and decides, and the player sees it', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const asked = await moderator.follow(await decide(moderator, id, 'asked', 'Which round?'));
    expect(textOf(asked.text).split(notices['appeal-now-asked'])).toHaveLength(2);
    await decide(moderator, id, 'accepted', 'You are right.');
    const page = textOf((await player.browser.get(`/account/appeals/${id}`)).text);
    expect(page).toContain('You are right.');
    expect(page).toContain(`${t.states.accepted}, ${t.notCarriedOut}`);
    const [ban] = await db.select().from(penalties).where(eq(penalties.id, player.penaltyId));
    expect(ban?.status).toBe('ACTIVE');
    expect(await eventsOf(id)).toMatchObject([
      { type: 'appeal.opened', waits_for: 'staff', by: 'player' },
      { type: 'appeal.answered', waits_for: 'player', by: 'staff' },
      { type: 'appeal.decided', waits_for: 'lift', by: 'staff' },
    ] as never);
    const details = { appealId: id, penaltyId: player.penaltyId };
    expect((await listAuditEntries(db, { whom: player.steamId64 })).slice(0, 3)).toMatchObject([
      { action: 'appeal.accepted', details },
      { action: 'appeal.asked', details },
      { action: 'appeal.opened', details },
    ]);
  });

  test('the page of an appeal shows everything for a decision', async () => {
    const player = await aBannedPlayer();
    const [gag] = await insertPenalties(db, [
      { playerSteamId: player.steamId64, type: 'gag', reason: 'Insults', status: 'EXPIRED' },
    ]);
    const earlier = await openedBy(player);
    await player.browser.post(`/account/appeals/${earlier}/withdraw`);
    const id = await openedBy(player);
    const page = await moderator.get(`${QUEUE}/${id}`);
    for (const path of [
      `penalties/${player.penaltyId}`,
      `penalties/${gag?.id}`,
      `appeals/${earlier}`,
      `users/${player.steamId64}`,
    ])
      expect(page.text).toContain(`href="/account/moderation/${path}"`);
    for (const shown of ['Insults', t.amounts({ inForce: 1, ended: 1 }), t.states.closed, 'English'])
      expect(textOf(page.text)).toContain(shown);
    const note = await moderator.post(`${QUEUE}/${id}/notes`, { text: 'A note on the case' });
    expect(note.location).toBe(`${QUEUE}/${id}#notes`);
    for (const path of [`penalties/${player.penaltyId}`, `users/${player.steamId64}`, `appeals/${id}`])
      expect((await moderator.get(`/account/moderation/${path}`)).text).toContain('A note on the case');
    const noteId = /notes\/(\d+)\/delete/.exec((await moderator.get(`${QUEUE}/${id}`)).text)?.[1];
    const removed = await moderator.follow(await moderator.post(`${QUEUE}/${id}/notes/${noteId}/delete`));
    expect(removed.text).not.toContain('A note on the case');
  });

  test('a decision leads to the next waiting appeal, and back to the list', async () => {
    const [player, next] = [await aBannedPlayer(), await aBannedPlayer({ endsAt: inHours(1) })];
    const [id, nextId] = [await openedBy(player), await openedBy(next)];
    const page = await moderator.follow(await decide(moderator, id, 'denied'));
    expect(textOf(page.text)).toContain(notices['appeal-now-denied']);
    expect(page.text).toContain(`href="${QUEUE}/${nextId}"`);
    expect(page.text).toContain(`href="${QUEUE}">${t.backToQueue}`);
    await decide(moderator, nextId, 'denied');
  });

  test('every moderation page shows how many appeals wait for staff', async () => {
    const countIn = async (path: string) =>
      Number(/class="tab-count">(\d+)</.exec((await moderator.get(path)).text)?.[1] ?? 0);
    const before = await countIn('/account/moderation/guide');
    const id = await openedBy(await aBannedPlayer());
    for (const path of ['penalties', 'admins', `appeals/${id}`])
      expect(await countIn(`/account/moderation/${path}`)).toBe(before + 1);
    await decide(moderator, id, 'asked');
    expect(await countIn('/account/moderation/guide')).toBe(before);
  });

  test('the page of a penalty and the record of a player show their appeals', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    for (const path of [`penalties/${player.penaltyId}`, `users/${player.steamId64}`])
      expect((await moderator.get(`/account/moderation/${path}`)).text).toContain(`href="${QUEUE}/${id}"`);
  });

  test('decides once when two decide in the same second', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const pages = await Promise.all([
      decide(moderator, id, 'denied', 'Denied by the moderator.'),
      decide(admin, id, 'accepted', 'Accepted by the admin.'),
    ]);
    expect(pages.map(({ status }) => status).toSorted()).toEqual([303, 409]);
    const late = textOf(pages.find(({ status }) => status === 409)?.text ?? '');
    for (const shown of [errors['appeal-decided'], 'Denied by the moderator.', 'Accepted by the admin.'])
      expect(late).toContain(shown);
    const decisions = (await eventsOf(id)).filter(({ type }) => type === 'appeal.decided');
    expect(decisions).toHaveLength(1);
    expect(await db.$count(appealMessages, eq(appealMessages.appealId, id))).toBe(2);
  });

  test('staff cannot decide their own appeals, and are warned about penalties that they gave', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const issuer = await signedIn(ISSUER);
    expect(textOf((await issuer.get(`${QUEUE}/${id}`)).text)).toContain(t.issuedByYou);
    expect(textOf((await moderator.get(`${QUEUE}/${id}`)).text)).not.toContain(t.issuedByYou);
    await insertUser(db, 904, { isModerator: true });
    const [ban] = await insertPenalties(db, [{ playerSteamId: aSteamId(904) }]);
    const own = await signedIn(904);
    const ownId = await openedBy({ browser: own, penaltyId: ban?.id ?? 0 });
    expect((await own.get(`${QUEUE}/${ownId}`)).status).toBe(403);
    expect((await decide(own, ownId, 'accepted')).status).toBe(403);
    expect((await stateOf(ownId))?.state).toBe('undecided');
  });

  test('a decision is refused without a text, and for an action that does not exist', async () => {
    const id = await openedBy(await aBannedPlayer());
    const empty = await decide(moderator, id, 'denied', '  ');
    expect(empty.status).toBe(400);
    expect(textOf(empty.text)).toContain(errors['appeal-message'](2000));
    expect((await decide(moderator, id, 'closed')).status).toBe(400);
    expect((await stateOf(id))?.state).toBe('undecided');
  });
});

test('appeals open only to those who may, for every address and form', async () => {
  const player = await aBannedPlayer();
  const id = await openedBy(player);
  const ban = `/account/moderation/penalties/${player.penaltyId}`;
  const pages = [
    `/account/penalties/${player.penaltyId}/appeal`,
    `/account/appeals/${id}`,
    QUEUE,
    `${QUEUE}/${id}`,
  ];
  const forms = [...pages.filter((path) => path !== QUEUE), `${ban}/notes`, `${ban}/notes/1/delete`];
  const blocked = await aBannedPlayer();
  const statusesOf = async (browser: Browser) => {
    await browser.get('/account');
    const read = pages.map(async (path) => (await browser.get(path)).status);
    // Without an action or a text a form that is open is refused as incomplete, and a note is not found.
    const sent = forms.map(async (path) => (await browser.post(path)).status);
    return [await Promise.all(read), await Promise.all(sent)];
  };
  const [guest, other] = [openBrowser(origin), await aBannedPlayer()];
  await db.update(users).set({ blockedAt: NOW }).where(eq(users.steamId64, blocked.steamId64));
  expect(await statusesOf(guest)).toEqual([
    [303, 303, 303, 303],
    [401, 401, 401, 401, 401],
  ]);
  expect(await statusesOf(blocked.browser)).toEqual([
    [403, 403, 403, 403],
    [403, 403, 403, 403, 403],
  ]);
  expect(await statusesOf(other.browser)).toEqual([
    [404, 404, 403, 403],
    [404, 404, 403, 403, 403],
  ]);
  for (const browser of [moderator, admin, await signedIn(900)]) {
    expect(await statusesOf(browser)).toEqual([
      [404, 404, 200, 200],
      [404, 404, 400, 400, 404],
    ]);
  }
  for (const path of forms) {
    const form = { action: 'denied', text: 'x' };
    const forged = [
      await moderator.post(path, { ...form, csrf_token: 'forged' }),
      await moderator.post(path, form, { 'sec-fetch-site': 'cross-site' }),
    ];
    expect(forged.map(({ status }) => status)).toEqual([403, 403]);
  }
  expect((await stateOf(id))?.state).toBe('undecided');
});

describe('a penalty that changes', () => {
  const change = (id: number, values: PenaltyValues) =>
    db.update(penalties).set(values).where(eq(penalties.id, id));

  test('closes an undecided appeal when it ends, is lifted, removed or no longer stored', async () => {
    const players = [];
    for (let count = 0; count < 4; count++) players.push(await aBannedPlayer());
    const ids = await Promise.all(players.map(openedBy));
    await settleAppeals(db, new Date());
    expect((await stateOf(ids[0] ?? 0))?.state).toBe('undecided');
    await change(players[0]?.penaltyId ?? 0, { endsAt: NOW, durationMinutes: 60 });
    await change(players[1]?.penaltyId ?? 0, { status: 'UNBANNED' });
    await change(players[2]?.penaltyId ?? 0, { goneAt: NOW });
    await db.delete(penalties).where(eq(penalties.id, players[3]?.penaltyId ?? 0));
    expect(await settleAppeals(db, new Date())).toBe(4);
    for (const [index, id] of ids.entries()) {
      expect((await stateOf(id))?.state).toBe('closed');
      expect((await players[index]?.browser.get(`/account/appeals/${id}`))?.status).toBe(200);
      expect((await moderator.get(`${QUEUE}/${id}`)).status).toBe(200);
      expect((await eventsOf(id)).at(-1)).toMatchObject({ type: 'appeal.decided', state: 'closed' } as never);
    }
    expect(await settleAppeals(db, new Date())).toBe(0);
    const page = textOf((await players[0]?.browser.get(`/account/appeals/${ids[0]}`))?.text ?? '');
    expect(page).toContain(t.closings.expired);
  });

  test('closes an appeal whose penalty is now of another player, who may appeal themselves', async () => {
    const [player, other] = [await aBannedPlayer(), await aBannedPlayer()];
    const id = await openedBy(player);
    await change(player.penaltyId, { playerSteamId: other.steamId64, reason: 'Reason of another' });
    await settleAppeals(db, new Date());
    expect((await stateOf(id))?.state).toBe('closed');
    expect((await player.browser.get(`/account/appeals/${id}`)).text).not.toContain('Reason of another');
    expect((await moderator.get(`${QUEUE}/${id}`)).text).not.toContain('Reason of another');
    const theirs = await openedBy({ ...other, penaltyId: player.penaltyId });
    expect(await stateOf(theirs)).toMatchObject({ state: 'undecided', playerSteamId: other.steamId64 });
  });

  test('a ban that its source brings again under another id can be appealed against again', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    await change(player.penaltyId, { goneAt: NOW });
    const [again] = await insertPenalties(db, [{ playerSteamId: player.steamId64 }]);
    await settleAppeals(db, new Date());
    const newId = await openedBy({ ...player, penaltyId: again?.id ?? 0 });
    expect([(await stateOf(id))?.state, (await stateOf(newId))?.state]).toEqual(['closed', 'undecided']);
  });

  const tomorrow = new Date(NOW.getTime() + DAY_MS);
  const ban = {};
  const warning = { type: 'warn', createdAt: NOW, durationMinutes: 1440, endsAt: tomorrow } as const;
  test.each<[what: string, isCarriedOut: boolean, penalty: PenaltyValues, changes: PenaltyValues]>([
    ['the ban is lifted', true, ban, { status: 'UNBANNED' }],
    ['the ban is removed', true, ban, { goneAt: NOW }],
    ['the ban ends', false, ban, { status: 'EXPIRED' }],
    ['the warning expires before its end', true, warning, { status: 'EXPIRED' }],
    ['the warning ends', false, warning, { endsAt: tomorrow }],
  ])('an accepted appeal counts as carried out when %s: %p', async (_, isCarriedOut, penalty, changes) => {
    const player = await aBannedPlayer(penalty);
    const id = await openedBy(player);
    await decide(moderator, id, 'accepted');
    await change(player.penaltyId, changes);
    for (const at of [new Date(), new Date(tomorrow.getTime() + 1)]) await settleAppeals(db, at);
    expect((await eventsOf(id)).slice(-2)).toMatchObject([
      { type: 'appeal.decided', is_carried_out: false, waits_for: 'lift', by: 'staff' },
      { type: 'appeal.decided', is_carried_out: isCarriedOut, waits_for: null, by: 'service' },
    ] as never);
    const page = textOf((await moderator.get(`${QUEUE}/${id}`)).text);
    expect(page.includes(`${t.states.accepted}, ${t.carriedOut}`)).toBe(isCarriedOut);
    expect(page).not.toContain(t.notCarriedOut);
  });

  test('an accepted appeal waits for its lift again when the penalty is in force again', async () => {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    await decide(moderator, id, 'accepted');
    await change(player.penaltyId, { status: 'UNBANNED' });
    await settleAppeals(db, new Date());
    expect(await stateOf(id)).toMatchObject({ waitsFor: null, ending: 'lifted' });
    await change(player.penaltyId, { status: 'ACTIVE' });
    await settleAppeals(db, new Date());
    expect(await stateOf(id)).toMatchObject({ state: 'accepted', waitsFor: 'lift', ending: null });
    expect((await eventsOf(id)).at(-1)).toMatchObject({
      type: 'appeal.decided',
      is_carried_out: false,
      waits_for: 'lift',
      by: 'service',
    } as never);
  });
});

test('erasing a player while a moderator answers leaves nothing of the appeal, whichever is first', async () => {
  for (let round = 0; round < 5; round++) {
    const player = await aBannedPlayer();
    const id = await openedBy(player);
    const [page] = await Promise.all([
      decide(moderator, id, 'asked', 'Which round?'),
      erase(db, player.steamId64),
    ]);
    expect([303, 404]).toContain(page.status);
    expect(await stateOf(id)).toBeUndefined();
    expect(await db.$count(appealMessages, eq(appealMessages.appealId, id))).toBe(0);
    expect(await eventsOf(id)).toEqual([]);
    expect(JSON.stringify(await exportOf(player.steamId64))).not.toMatch(/demo of the round|Which round/);
  }
});

test('neither deleting the account nor the retention resets a limit of appeals that still applies', async () => {
  const player = await aBannedPlayer();
  const [gag, mute] = await insertPenalties(db, [
    { playerSteamId: player.steamId64, type: 'gag' },
    { playerSteamId: player.steamId64, type: 'mute' },
  ]);
  await decide(moderator, await openedBy(player), 'denied');
  await decide(moderator, await openedBy({ ...player, penaltyId: gag?.id ?? 0 }), 'accepted');
  await openedBy({ ...player, penaltyId: mute?.id ?? 0 });
  const returning = async () => {
    await erase(db, player.steamId64);
    await deleteOldRows(db, { appealAgainDays: 30 });
    return signedIn(player.number);
  };
  const refusalOf = async (browser: Browser, penaltyId = 0) =>
    textOf((await browser.follow(await appeal(browser, penaltyId))).text);
  let browser = await returning();
  expect(await refusalOf(browser, player.penaltyId)).toContain(notices['appeal-denied']);
  expect(await refusalOf(browser, gag?.id)).toContain(notices['appeal-accepted']);
  for (let count = 0; count < 2; count++) {
    expect(await openedBy({ browser, penaltyId: mute?.id ?? 0 })).toBeGreaterThan(0);
    browser = await returning();
  }
  expect(await refusalOf(browser, mute?.id)).toContain(notices['appeal-too-many-today']);
  expect(JSON.stringify(await db.select().from(erasedAppeals))).not.toContain(player.steamId64);
});

test('a message of erased staff stays as "staff"', async () => {
  await insertUser(db, 905, { nickname: 'Gone', isModerator: true });
  const leaver = await signedIn(905);
  const id = await openedBy(await aBannedPlayer());
  await decide(leaver, id, 'asked', 'Which round?');
  expect(await exportOf(aSteamId(905))).toMatchObject({ appealMessagesWritten: [{}] });
  await erase(db, aSteamId(905));
  const page = textOf((await moderator.get(`${QUEUE}/${id}`)).text);
  expect(page).toContain(`${t.kinds.asked} · ${t.staff}`);
  expect(page).not.toContain('Gone');
});

test('a note on a penalty is shown there and in the record of the player, with https addresses as links', async () => {
  const player = await aBannedPlayer();
  const path = `/account/moderation/penalties/${player.penaltyId}`;
  await moderator.get(path);
  const text =
    'Demo: https://example.org/demo?round=7. <b>not</b> https://user:pw@evil.example http://plain.example';
  const added = await moderator.post(`${path}/notes`, { text });
  expect(added.location).toBe(`${path}#notes`);
  const page = (await moderator.follow(added)).text;
  expect(textOf(page).split(notices['note-added'])).toHaveLength(2);
  expect(page).toContain(
    '<a href="https://example.org/demo?round=7" rel="nofollow noopener noreferrer">https://example.org/demo?round=7</a>.',
  );
  expect(page).not.toContain('href="https://user');
  expect(page).not.toContain('href="http://plain');
  const record = (await moderator.get(`/account/moderation/users/${player.steamId64}`)).text;
  expect(record).toContain('https://example.org/demo?round=7');
  expect(record).toContain(`<a href="${path}">#${player.penaltyId}</a>`);
  const noteId = /notes\/(\d+)\/delete/.exec(page)?.[1];
  const [other] = await insertPenalties(db, [{ playerSteamId: player.steamId64 }]);
  const elsewhere = path.replace(/[0-9]+$/, String(other?.id));
  expect((await moderator.post(`${elsewhere}/notes/${noteId}/delete`)).status).toBe(404);
  expect((await moderator.post(`${path}/notes/${noteId}/delete`)).location).toBe(`${path}#notes`);
  expect((await moderator.get(path)).text).not.toContain('Demo:');
});

test('a note cannot belong to a penalty of an unknown player', async () => {
  const { penaltyId } = await aBannedPlayer({ playerSteamId: '0' as never });
  const path = `/account/moderation/penalties/${penaltyId}`;
  const page = await moderator.get(path);
  expect(page.text).not.toContain(`${path}/notes`);
  expect((await moderator.post(`${path}/notes`, { text: 'x' })).status).toBe(404);
});

test('APPEALS unset leaves no page, no link and no tab', async () => {
  const player = await aBannedPlayer();
  await openedBy(player);
  const off = openBrowser(startSite({}).origin);
  for (const [name, value] of player.browser.cookies) off.cookies.set(name, value);
  expect((await off.get('/account')).text).not.toContain('appeal');
  expect((await off.get(`/account/penalties/${player.penaltyId}/appeal`)).status).toBe(404);
  for (const [name, value] of moderator.cookies) off.cookies.set(name, value);
  expect((await off.get(QUEUE)).status).toBe(404);
  const guide = (await off.get('/account/moderation/guide')).text;
  expect([guide.includes(t.title), guide.includes('Write notes')]).toEqual([false, true]);
  const penalty = await off.get(`/account/moderation/penalties/${player.penaltyId}`);
  expect(penalty.text).not.toContain(QUEUE);
  expect(penalty.text).not.toContain('/notes');
});
