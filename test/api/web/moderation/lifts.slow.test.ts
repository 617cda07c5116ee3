import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import pino from 'pino';
import { en } from '../../../../api/web/locales/en.ts';
import { listenForChanges } from '../../../../src/db/changes.ts';
import { connectionOf } from '../../../../src/db/client.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { appeals } from '../../../../src/db/schema/appeals.ts';
import { pendingLifts } from '../../../../src/db/schema/lifts.ts';
import { LIFT_REASON_LENGTH, type LiftAudience } from '../../../../src/domain/lift.ts';
import { createLifts } from '../../../../src/import/lifting.ts';
import { createMirror } from '../../../../src/import/mirror/mirror.ts';
import { createMirrorMetrics } from '../../../../src/import/rounds.ts';
import { simpleAdminSystem } from '../../../../src/import/simple-admin/simple-admin.ts';
import { importSource } from '../../../../src/import/source-system.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { createMetrics } from '../../../../src/runtime/metrics.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import { urlOf } from '../../../support/database/database.ts';
import { startDatabaseProxy } from '../../../support/database/database-proxy.ts';
import { COMMIT, createLiftAccounts } from '../../../support/import/lifting.ts';
import { createTestMariaDb, isMariaDbAtHand } from '../../../support/import/mariadb.ts';
import { importDeps, storedPenalty } from '../../../support/import/penalty-rows.ts';
import { aRow, simpleAdminMysqlSchema } from '../../../support/import/simple-admin-schema.ts';
import { insertInto } from '../../../support/import/systems.ts';
import { waitFor } from '../../../support/wait.ts';
import type { Browser } from '../../../support/web/browser.ts';
import { cardOf, noticesOf, textOf } from '../../../support/web/page-text.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const ADMIN = aSteamId(901);
const SYSTEM = simpleAdminSystem({});
const { notices, lifts: texts } = en;

const { db, requestDb, startSite, signedIn } = await openUserSite();
const lines: string[] = [];
const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line).msg) });
const now = () => new Date();

describe.if(await isMariaDbAtHand())('lifting a penalty', () => {
  let source: Awaited<ReturnType<typeof createTestMariaDb>>;
  let accounts: { mirrorUrl: string; liftUrl: string };
  let stopMirror: () => Promise<void>;
  /** By their ids at the source: a ban, one of the admin, and one of nobody known. */
  let ids: number[];

  beforeAll(async () => {
    await insertUser(db, 901, { nickname: 'Admin', isAdmin: true });
    await insertUser(db, 902, { nickname: 'Moderator', isModerator: true });
  });

  beforeEach(async () => {
    await connectionOf(
      db,
    )`truncate penalties, penalty_sources, settings, pending_lifts, audit_log, appeals cascade`;
    source = await createTestMariaDb(
      simpleAdminMysqlSchema({ migration: 15 }),
      insertInto('sa_admins', { player_name: 'Admin', player_steamid: ADMIN }),
      ...[aSteamId(1), ADMIN, null].map((player_steamid) =>
        insertInto('sa_bans', aRow({ player_steamid, duration: 0 })),
      ),
    );
    accounts = await createLiftAccounts(source);
    await importSource(importDeps({ db, url: urlOf(db) } as never), SYSTEM, { url: accounts.mirrorUrl });
    const rows = await Promise.all([1, 2, 3].map((id) => idOf(id)));
    ids = rows.map(({ id }) => id);
    stopMirror = async () => {};
    lines.length = 0;
  });
  afterEach(() => stopMirror());

  async function idOf(sourceId: number) {
    const [row] = await connectionOf(db)<{ id: string }[]>`
      select id from penalties where source_table = 'sa_bans' and source_id = ${String(sourceId)}`;
    return { id: Number(row?.id) };
  }

  /** Starts the mirror, whose next round begins in an hour, unless it is woken. */
  async function startMirror() {
    const rounds = createMirror(
      { db, databaseUrl: urlOf(db), log, metrics: createMirrorMetrics(createMetrics()), now },
      SYSTEM,
      { url: accounts.mirrorUrl, source: 'simpleadmin', intervalSeconds: 3600 },
    );
    const changes = await listenForChanges(connectionOf(db), log);
    changes.onChange('pending_lifts', rounds.wake);
    const stopping = new AbortController();
    const led = rounds.lead(stopping.signal);
    stopMirror = async () => {
      stopping.abort();
      await led;
      await changes.stop();
    };
    await waitFor(() => rounds.health().lastRoundAt);
    return rounds;
  }

  /** The pages with an account that lifts. */
  async function openSite({
    audience = 'admins',
    liftUrl = accounts.liftUrl,
    confirmLimitMs,
  }: {
    audience?: LiftAudience;
    liftUrl?: string;
    confirmLimitMs?: number;
  } = {}) {
    const lifts = createLifts({
      ...{ requestDb, db, log, now, audience },
      sources: [{ system: SYSTEM, source: 'simpleadmin', mirrorUrl: accounts.mirrorUrl, liftUrl }],
      ...(confirmLimitMs !== undefined && { confirmLimitMs }),
    });
    await lifts.check();
    const at = startSite({ lifts, settings: { appeals: { againDays: 30 } } });
    return {
      lifts,
      admin: await signedIn(901, { at }),
      moderator: await signedIn(902, { at }),
    };
  }

  const pathOf = (id = ids[0]) => `/account/moderation/penalties/${id}`;
  /** Submits the form of a penalty's page, whether or not it is there. */
  const lift = async (browser: Browser, reason = 'Appeal #12', id = ids[0]) => {
    await browser.get(pathOf(id));
    return browser.post(`${pathOf(id)}/lift`, { reason });
  };
  const statusAtSource = async () =>
    (await source.read('select status from sa_bans where id = 1'))[0]?.status;

  test('a lift is written at the source, shown as the mirror reads it, and audited with its reason', async () => {
    await startMirror();
    const { admin } = await openSite();
    const page = await admin.get(pathOf());
    expect(textOf(page.text)).toContain(texts.lead('CS2-SimpleAdmin'));
    const response = await lift(admin, ' Appeal #12 \n "sorry" ');
    expect(response.location).toBe(`${pathOf()}#penalty`);
    const { text } = await admin.follow(response);
    const shown = textOf(text);
    expect(noticesOf(text)).toEqual([['penalty', notices['lift-confirmed']]]);
    expect(shown).not.toContain(texts.title);
    expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({
      ...{ status: 'UNBANNED', liftedByName: 'Admin', liftedBySteamId: ADMIN },
      liftReason: 'Appeal #12 "sorry"',
    });
    const [entry] = await listAuditEntries(db, { action: 'penalty.lifted_at_source' });
    expect(entry).toMatchObject({
      actor: { steamId64: ADMIN },
      subject: aSteamId(1),
      details: { penaltyId: ids[0], source: 'simpleadmin', reason: 'Appeal #12 "sorry"' },
    });
  });

  test('a lift stays unconfirmed until the mirror has read it, and a second lift is refused until then', async () => {
    const { admin } = await openSite({ confirmLimitMs: 0 });
    const shown = await admin.follow(await lift(admin));
    expect(textOf(shown.text)).toContain(notices['lift-unconfirmed']);
    expect(textOf(shown.text)).toContain(texts.unconfirmed);
    expect(textOf((await admin.follow(await lift(admin))).text)).toContain(notices['not-lifted-pending']);
    await startMirror();
    await waitFor(async () => (await storedPenalty(db, 'sa_bans', 1))?.status === 'UNBANNED');
    await waitFor(async () => !textOf((await admin.get(pathOf())).text).includes(texts.unconfirmed));
  });

  test.each([
    ['cut', 'ACTIVE', 0],
    ['cut-before-response', 'UNBANNED', 1],
  ] as const)(
    'a lift whose connection is %s with the commit is unknown until the mirror reads that the penalty is %s',
    async (how, status, entries) => {
      const proxy = await startDatabaseProxy(accounts.liftUrl);
      const { admin } = await openSite({ liftUrl: proxy.url, confirmLimitMs: 0 });
      proxy.failAt(COMMIT, how);
      const shown = await admin.follow(await lift(admin));
      expect(textOf(shown.text)).toContain(texts.unknown);
      expect(await listAuditEntries(db, { action: 'penalty.lifted_at_source' })).toEqual([]);
      await waitFor(async () => (await statusAtSource()) === status);
      await startMirror();
      await waitFor(async () => (await db.select().from(pendingLifts)).length === 0);
      expect(await storedPenalty(db, 'sa_bans', 1)).toMatchObject({ status });
      const audited = await listAuditEntries(db, { action: 'penalty.lifted_at_source' });
      expect(audited).toHaveLength(entries);
      expect(textOf((await admin.get(pathOf())).text).includes(texts.title)).toBe(status === 'ACTIVE');
    },
  );

  test('lifting a penalty that the source has already lifted changes nothing there, and the page says so', async () => {
    await startMirror();
    const { admin } = await openSite();
    await source.run("update sa_bans set status = 'UNBANNED' where id = 1");
    const shown = await admin.follow(await lift(admin));
    expect(textOf(shown.text)).toContain(notices['not-lifted-lifted']);
    expect(await source.read('select * from sa_unbans')).toEqual([]);
    expect(await db.select().from(pendingLifts)).toEqual([]);
    await waitFor(async () => (await storedPenalty(db, 'sa_bans', 1))?.status === 'UNBANNED');
    const again = await admin.follow(await lift(admin));
    expect(textOf(again.text)).toContain(notices['not-lifted-not-in-force']);
  });

  test('staff lift a ban of a player without an account', async () => {
    await startMirror();
    const { admin } = await openSite();
    const shown = await admin.follow(await lift(admin, 'Appeal', ids[2]));
    expect(textOf(shown.text)).toContain(notices['lift-confirmed']);
    const [entry] = await listAuditEntries(db, { action: 'penalty.lifted_at_source' });
    expect(entry).toMatchObject({ subject: `#${ids[2]}` });
  });

  test('a lift needs a reason of 1 to 128 characters', async () => {
    const { admin } = await openSite();
    for (const reason of ['', ' \n', '💥'.repeat(LIFT_REASON_LENGTH.maximum + 1)]) {
      const refused = await lift(admin, reason);
      expect(refused.status).toBe(400);
      expect(textOf(refused.text)).toContain(en.errors['lift-reason'](LIFT_REASON_LENGTH.maximum));
    }
    expect(await statusAtSource()).toBe('ACTIVE');
    await startMirror();
    expect((await lift(admin, '💥'.repeat(LIFT_REASON_LENGTH.maximum))).status).toBe(303);
    expect(await statusAtSource()).toBe('UNBANNED');
  });

  test('admins lift penalties, and moderators with LIFT_FOR=moderators', async () => {
    const { moderator } = await openSite();
    expect(textOf((await moderator.get(pathOf())).text)).not.toContain(texts.title);
    expect((await lift(moderator)).status).toBe(403);
    await startMirror();
    const { moderator: allowed } = await openSite({ audience: 'moderators' });
    expect(textOf((await allowed.get(pathOf())).text)).toContain(texts.title);
    // No admin there, where there is no console either.
    await source.run('alter table sa_unbans add foreign key (admin_id) references sa_admins(id)');
    const shown = await allowed.follow(await lift(allowed));
    expect(textOf(shown.text)).toContain(notices['not-lifted-no-console']);
    await source.run(insertInto('sa_admins', { player_name: 'Console', player_steamid: 0 }));
    expect(textOf((await allowed.follow(await lift(allowed))).text)).toContain(notices['lift-confirmed']);
  });

  test('admins cannot lift their own penalties', async () => {
    const { admin } = await openSite();
    expect(textOf((await admin.get(pathOf(ids[1]))).text)).not.toContain(texts.title);
    expect((await lift(admin, 'Appeal', ids[1])).status).toBe(403);
    expect(await source.read("select 1 from sa_bans where status <> 'ACTIVE'")).toEqual([]);
  });

  test('an account without the rights switches lifting off, and admins read why', async () => {
    const { lifts, admin, moderator } = await openSite({ liftUrl: accounts.mirrorUrl });
    await lifts.check();
    expect(lines.filter((line) => line.includes('lifted in'))).toEqual([
      'nothing can be lifted in CS2-SimpleAdmin: the account of SIMPLEADMIN_LIFT_URL lacks a right to sa_bans',
    ]);
    const page = textOf((await admin.get('/account/moderation')).text);
    expect(page).toContain(`CS2-SimpleAdmin: ${texts.problems.rights('sa_bans')}`);
    expect(textOf((await moderator.get('/account/moderation/penalties')).text)).not.toContain(
      texts.problems.title,
    );
    expect(textOf((await admin.get(pathOf())).text)).not.toContain(texts.title);
    const shown = await admin.follow(await lift(admin));
    expect(textOf(shown.text)).toContain(notices['not-lifted-not-liftable']);
    expect(await db.select().from(auditLog)).not.toContainEqual(
      expect.objectContaining({ action: 'penalty.lifted_at_source' }),
    );

    const { username, pathname } = new URL(accounts.mirrorUrl);
    await source.run(`grant insert, update on ${pathname.slice(1)}.* to ${username}@'%'`);
    await lifts.check();
    expect(lines.at(-1)).toBe('penalties can be lifted in CS2-SimpleAdmin');
    expect(textOf((await admin.get(pathOf())).text)).toContain(texts.title);
  });

  test('penalties that lost their row do not hide that the account is of another database', async () => {
    await source.run(insertInto('sa_bans', aRow({ created: '2026-01-01 00:00:00' })));
    await importSource(importDeps({ db, url: urlOf(db) } as never), SYSTEM, { url: accounts.mirrorUrl });
    await connectionOf(db)`
      update penalties set source_id = (90 + id) || ' (penalty ' || id || ')' where source_id <> '4'`;
    const other = await createTestMariaDb(simpleAdminMysqlSchema({ migration: 15 }));
    const { lifts } = await openSite({ liftUrl: (await createLiftAccounts(other)).liftUrl });
    expect(lifts.listProblems()).toEqual([
      { system: 'CS2-SimpleAdmin', problem: { kind: 'other-database', table: 'sa_bans' } },
    ]);
  });

  describe('of an appeal', () => {
    const APPEALS = '/account/moderation/appeals';
    let appealId: number;
    beforeEach(async () => {
      const now = new Date();
      const [appeal] = await db
        .insert(appeals)
        .values({
          ...{ penaltyId: ids[0] ?? 0, playerSteamId: aSteamId(1), openedAt: now },
          ...{ waitsFor: 'staff', waitingSince: now, wantsMessages: false },
        })
        .returning();
      appealId = appeal?.id ?? 0;
    });

    const stateOf = async () => {
      const [appeal] = await db.select().from(appeals);
      return [appeal?.state, appeal?.waitsFor, appeal?.ending];
    };
    const acceptAndLift = (browser: Browser, fields: Record<string, string> = {}) =>
      browser.post(`${APPEALS}/${appealId}`, {
        ...{ text: 'Welcome back', reason: `appeal #${appealId}`, action: 'accepted-and-lift' },
        ...fields,
      });

    test('accepting and lifting accepts the appeal and lifts the penalty with the filled-in reason', async () => {
      await startMirror();
      const { admin } = await openSite();
      const page = await admin.get(`${APPEALS}/${appealId}`);
      expect(textOf(page.text)).toContain(texts.acceptAndLift('CS2-SimpleAdmin'));
      expect(cardOf(page.text, 'appeal')).toContain(`>appeal #${appealId}</textarea>`);
      const response = await acceptAndLift(admin);
      expect(response.location).toBe(`${APPEALS}/${appealId}#appeal`);
      const shown = await admin.follow(response);
      expect(noticesOf(shown.text)).toEqual([['appeal', notices['lift-confirmed']]]);
      expect(await source.read('select reason from sa_unbans')).toMatchObject([
        { reason: `appeal #${appealId}` },
      ]);
      expect(await stateOf()).toEqual(['accepted', null, 'lifted']);
      expect(textOf(shown.text)).not.toContain(en.appeals.liftNow);
    });

    test('accepting and lifting does nothing if one of the two texts is missing', async () => {
      const { admin } = await openSite();
      for (const fields of [{ text: '' }, { reason: '' }, { reason: 'x'.repeat(129) }]) {
        const refused = await acceptAndLift(admin, fields);
        expect(refused.status).toBe(400);
        expect(await stateOf()).toEqual(['undecided', 'staff', null]);
        if (fields.text !== '') expect(refused.text).toContain('>Welcome back</textarea>');
      }
      expect(await statusAtSource()).toBe('ACTIVE');
    });

    test('an accepted appeal whose lift fails says why, and its penalty is lifted from the list', async () => {
      await startMirror();
      const { admin } = await openSite();
      await source.run("update sa_bans set player_steamid = '76561198000000009' where id = 1");
      const failed = await admin.follow(await acceptAndLift(admin));
      expect(textOf(failed.text)).toContain(notices['not-lifted-changed']);
      expect(await stateOf()).toEqual(['accepted', 'lift', null]);
      expect(textOf(failed.text)).toContain(texts.lift('CS2-SimpleAdmin'));

      await source.run(`update sa_bans set player_steamid = '${aSteamId(1)}' where id = 1`);
      await importSource(importDeps({ db, url: urlOf(db) } as never), SYSTEM, { url: accounts.mirrorUrl });
      const list = await admin.get(`${APPEALS}?tab=lift`);
      expect(list.text).toContain(`aria-label="${texts.liftOf(appealId)}"`);
      const fields = { reason: `appeal #${appealId}`, from_list: '1' };
      const response = await admin.post(`${APPEALS}/${appealId}/lift`, fields);
      expect(response.location).toBe(`${APPEALS}?tab=lift#appeals`);
      const shown = await admin.follow(response);
      expect(noticesOf(shown.text)).toEqual([['appeals', notices['lift-confirmed']]]);
      expect(await statusAtSource()).toBe('UNBANNED');
    });

    test('moderators accept appeals, and lift penalties only with LIFT_FOR=moderators', async () => {
      const { moderator } = await openSite();
      expect(textOf((await moderator.get(`${APPEALS}/${appealId}`)).text)).not.toContain(texts.reason);
      expect((await acceptAndLift(moderator)).status).toBe(403);
      expect(await stateOf()).toEqual(['undecided', 'staff', null]);
      await acceptAndLift(moderator, { action: 'accepted' });
      const page = textOf((await moderator.get(`${APPEALS}/${appealId}`)).text);
      expect(page).toContain(en.appeals.liftNow);
      expect((await moderator.post(`${APPEALS}/${appealId}/lift`, { reason: 'x' })).status).toBe(403);
      expect((await moderator.get(`${APPEALS}?tab=lift`)).text).not.toContain(texts.liftOf(appealId));
      expect(await statusAtSource()).toBe('ACTIVE');
    });
  });
});
