import { describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { en } from '../../../../api/web/locales/en.ts';
import { pl } from '../../../../api/web/locales/pl.ts';
import { inTransaction } from '../../../../src/db/client.ts';
import { auditLog, userFlags } from '../../../../src/db/schema/accounts.ts';
import { hashApiToken } from '../../../../src/domain/api-token.ts';
import type { UserFlagColumn } from '../../../../src/domain/rights/user-flags.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import { listAuditEntries } from '../../../../src/queries/audit-log.ts';
import { createApiToken, findLiveApiToken } from '../../../../src/queries/users/api-tokens.ts';
import {
  saveConfiguredFlags,
  saveUser,
  type UserChanges,
} from '../../../../src/queries/users/user-changes.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import type { Browser, Page } from '../../../support/web/browser.ts';
import { openModeration } from '../../../support/web/moderation.ts';
import { noticesOf, rowsOf, textOf } from '../../../support/web/page-text.ts';
import { CONFIGURED_OWNER } from '../../../support/web/user-site.ts';

const { badges: flag } = en.account;
const { booleans: yesOrNo } = en.moderation;

const { db, as, owner, admin, userOf } = await openModeration();

const saveOwners = (ownerSteamIds: SteamId64[]) =>
  saveConfiguredFlags(db, { ownerSteamIds, moderatorSteamIds: [] }, new Date());

/** Opens the page of the user of this number, and saves their flags with exactly these boxes ticked. */
async function saveFlags(
  browser: Browser,
  number: number,
  ticked: Partial<Record<UserFlagColumn, 'on'>> = {},
): Promise<Page> {
  const path = `/account/moderation/users/${aSteamId(number)}`;
  const shown = (await browser.get(path)).field('shown_flags') ?? '';
  return browser.post(`${path}/flags`, { ...ticked, shown_flags: shown });
}

/** What the audit log says of each change of a user's flags. */
async function listFlagChanges(number: number): Promise<object[]> {
  const entries = await listAuditEntries(db, { whom: aSteamId(number), action: 'user.flags-set' });
  return entries.map(({ details }) => details).reverse();
}

describe('an owner', () => {
  test('grants and revokes flags; only changes are in the audit log', async () => {
    const page = await saveFlags(owner, 2, { hasSvip: 'on', isServiceplus: 'on' });
    const { text } = await owner.follow(page);
    expect(noticesOf(text)).toEqual([['flags', en.notices['flags-saved']]]);
    expect(await userOf(2)).toMatchObject({
      isAdmin: false,
      isOwner: false,
      hasSvip: true,
      isServiceplus: true,
    });
    await saveFlags(owner, 2, { hasSvip: 'on' });
    expect(await userOf(2)).toMatchObject({ hasSvip: true, isServiceplus: false });
    await saveFlags(owner, 2, { hasSvip: 'on' });
    expect(await listFlagChanges(2)).toEqual([
      { hasSvip: true, isServiceplus: true },
      { isServiceplus: false },
    ]);
  });

  test('owners cannot remove their own flag, nor one that the configuration gives', async () => {
    await saveFlags(owner, 900);
    expect(await userOf(900)).toMatchObject({ isOwner: true, isAdmin: true });
    await insertUser(db, 60, { isOwner: true, isAdmin: true });
    const second = await as(60);
    await saveFlags(second, 900);
    expect(await userOf(900)).toMatchObject({ isOwner: true, isAdmin: true });
    await saveFlags(second, 60);
    expect(await userOf(60)).toMatchObject({ isOwner: true, isAdmin: false });
    await saveFlags(owner, 60);
    expect((await userOf(60)).isOwner).toBe(false);
  });

  test('changes no flag by an outdated page unless they changed it there', async () => {
    const path = `/account/moderation/users/${aSteamId(17)}`;
    const set = (number: number, changes: UserChanges) =>
      saveUser(db, aSteamId(number), { changes, actor: 'operator' });
    await set(17, { isAdmin: true });
    await set(18, { isOwner: true });
    const second = await as(18);
    const shown = (await second.get(path)).field('shown_flags') ?? '';
    await saveFlags(owner, 17, { isServiceplus: 'on' });
    const form = { isAdmin: 'on', hasSvip: 'on', shown_flags: shown };
    expect((await second.post(`${path}/flags`, form)).status).toBe(303);
    expect(await userOf(17)).toMatchObject({ isAdmin: false, hasSvip: true, isServiceplus: true });
    expect((await listFlagChanges(17)).at(-1)).toEqual({ hasSvip: true });
  });

  test('sets all flags by a form that does not say what it showed', async () => {
    await saveFlags(owner, 19, { hasSvip: 'on' });
    const page = await owner.post(`/account/moderation/users/${aSteamId(19)}/flags`, { isAdmin: 'on' });
    expect(page.status).toBe(303);
    expect(await userOf(19)).toMatchObject({ isAdmin: true, hasSvip: false });
  });

  test('sees where each flag comes from, and members on their account page unless it is set here; flags set here are ticked', async () => {
    const endsAt = new Date('2030-01-02T03:04:05Z');
    await saveFlags(owner, 20, { isAdmin: 'on' });
    await db.insert(userFlags).values([
      { steamId64: aSteamId(20), flag: 'is_admin', source: 'simpleadmin' },
      { steamId64: aSteamId(20), flag: 'has_svip', source: 'vipcore', endsAt },
    ]);
    const { text } = await owner.get(`/account/moderation/users/${aSteamId(20)}`);
    expect(text).toMatch(/name="isAdmin" checked/);
    expect(text).not.toMatch(/name="hasSvip" checked/);
    const own = (await (await as(20)).get('/account')).text;
    for (const page of [text, own]) {
      expect(textOf(page)).toContain(en.account.flagSources.simpleadmin);
      expect(textOf(page)).toContain(`${en.account.flagSources.vipcore}, ${en.account.until} 2 Jan 2030`);
    }
    const setHere = en.account.flagSources.hand;
    expect(textOf(text)).toContain(`${setHere} · ${en.account.flagSources.simpleadmin}`);
    expect(textOf(own)).not.toContain(setHere);
    await saveFlags(owner, 20);
    expect(await userOf(20)).toMatchObject({ isAdmin: true, hasSvip: true });
  });

  test('gets 404 for unknown users', async () => {
    for (const id of ['0', 'abc', aSteamId(77_777), '%00']) {
      expect([id, (await owner.post(`/account/moderation/users/${id}/flags`)).status]).toEqual([id, 404]);
    }
  });
});

test('an admin revokes any token, which is in the audit log', async () => {
  const target = await userOf(1);
  const options = { name: 'Leaked', now: new Date(), actor: 'operator' } as const;
  const { token, id } = await inTransaction(db, (tx) => createApiToken(tx, target.id, options));
  const user = `/account/moderation/users/${aSteamId(1)}`;
  const { text } = await admin.get(user);
  expect(text).toContain(en.tokens.revokeLead('Leaked', token.slice(-4)));
  expect(text).toContain(`action="${user}/tokens/${id}/revoke"`);
  const page = await admin.post(`${user}/tokens/${id}/revoke`);
  expect([page.status, page.location]).toEqual([303, `${user}#tokens`]);
  const after = await admin.follow(page);
  expect(noticesOf(after.text)).toEqual([['tokens', en.notices['token-revoked']]]);
  expect(after.text).toContain('state-revoked');
  expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toBeUndefined();

  const [entry] = await db.select().from(auditLog).where(eq(auditLog.action, 'token.revoked'));
  expect(entry).toMatchObject({
    actorUserId: (await userOf(4)).id,
    subject: aSteamId(1),
    details: { tokenId: id, name: 'Leaked' },
  });
  const { detailLabels: label, neverExpires } = en.moderation;
  expect((await admin.get('/account/moderation/audit')).text).toMatch(
    new RegExp(
      `${label.name}: \\S*Leaked\\S* · ${label.tokenId}: \\S+ · ${label.expiresAt}: ${neverExpires}`,
    ),
  );
});

test('admins cannot set flags', async () => {
  const path = `/account/moderation/users/${aSteamId(4)}/flags`;
  expect((await admin.post(path, { isOwner: 'on', isAdmin: 'on', shown_flags: 'isAdmin' })).status).toBe(403);
  expect((await userOf(4)).isOwner).toBe(false);
  expect((await admin.get(`/account/moderation/users/${aSteamId(4)}`)).text).toContain(
    en.moderation.ownersOnly,
  );
});

const LIVE = 3;
const ENDED = 5_000;

test("moderators see a user's live tokens, then the newest 25 ended ones, however many were revoked", async () => {
  const clicker = await insertUser(db, 70, { nickname: 'Clicker' });
  for (let number = 1; number <= LIVE; number++) {
    await inTransaction(db, (tx) =>
      createApiToken(tx, clicker.id, { name: `Live ${number}`, now: new Date(), actor: 'operator' }),
    );
  }
  await db.execute(sql`insert into api_tokens (user_id, name, token_hash, last_four, revoked_at, expires_at)
    select ${clicker.id}, 'Ended ' || n || '.', 'clicker ' || n, 'abcd',
      case when n % 2 = 0 then now() end, case when n % 2 = 1 then now() end
    from generate_series(1, ${ENDED}::integer) n`);

  const page = await admin.get(`/account/moderation/users/${clicker.steamId64}`);
  expect(page.text.length).toBeLessThan(60_000);
  expect(namesOn(page)).toEqual([
    ...['Live 3', 'Live 2', 'Live 1'],
    ...Array.from({ length: 25 }, (_, index) => `Ended ${ENDED - index}.`),
  ]);
});

function namesOn({ text }: Page): string[] {
  return [...text.matchAll(/<th scope="row" class="list-title list-words">([^<]*)</g)].map(
    ([, name]) => name ?? '',
  );
}

describe('the audit log', () => {
  test('names the configuration where it made somebody owner, and where that ended', async () => {
    await saveOwners([CONFIGURED_OWNER, aSteamId(60)]);
    const granted = (await admin.get('/account/moderation/audit')).text;
    expect(granted).toContain(`<span class="hint">${en.moderation.actors.configuration}</span>`);
    expect(granted).toContain(`href="/account/moderation/users/${aSteamId(60)}"`);
    expect(granted).toContain(`${flag.isOwner}: ${yesOrNo.true} · ${flag.isAdmin}: ${yesOrNo.true}`);
    await saveOwners([CONFIGURED_OWNER]);
    expect((await admin.get('/account/moderation/audit')).text).toContain(
      `${flag.isOwner}: ${yesOrNo.false} · ${flag.isAdmin}: ${yesOrNo.false}`,
    );
    const polish = await admin.follow(await admin.get('/account/moderation/audit?lang=pl'));
    expect(polish.text).toContain(`<span class="hint">${pl.moderation.actors.configuration}</span>`);
    expect(polish.text).toContain(
      `${pl.account.badges.isOwner}: ${pl.moderation.booleans.false} · ${pl.account.badges.isAdmin}: `,
    );
    await admin.get('/account?lang=en');
  });

  test('shows who did what to whom, newest first, a page at a time', async () => {
    const page = await admin.get('/account/moderation/audit');
    expect(page.text).toContain(en.moderation.actions['user.flags-set']);
    expect(page.text).toContain(`${flag.hasSvip}: ${yesOrNo.true} · ${flag.isServiceplus}: ${yesOrNo.true}`);
    const actor = await userOf(900);
    await db.insert(auditLog).values(
      Array.from({ length: 60 }, (_, index) => ({
        actorUserId: index === 0 ? null : actor.id,
        action: 'token.created',
        subject: aSteamId(2),
        details: { name: `Filler ${index}` },
      })),
    );
    const newest = await admin.get('/account/moderation/audit');
    expect(newest.text).toContain('Filler 59');
    expect(newest.text).not.toContain('Filler 9<');
    const next = /rel="next" href="([^"]+)"/.exec(newest.text)?.[1] ?? '';
    const older = await admin.get(next);
    expect(older.text).toContain(`${en.moderation.detailLabels.name}: Filler 9<`);
    expect(older.text).toContain(en.moderation.actors.operator);
    expect(older.text).toContain('rel="prev"');
  });

  test('names users by their nickname, and tells erased players from a server of that name', async () => {
    await db.insert(auditLog).values([
      { action: 'token.created', subject: aSteamId(1), details: {} },
      { action: 'token.created', subject: aSteamId(77_777), details: {} },
      { action: 'user.erased', subject: 'erased', details: {} },
      { action: 'server.added', subject: 'erased', details: {} },
      { action: 'webhook.added', subject: '1 (https://example.org)', details: { types: null } },
    ]);
    const { text } = await admin.get('/account/moderation/audit');
    const { operator } = en.moderation.actors;
    expect(
      rowsOf(text)
        .slice(0, 5)
        .map((row) => row.replace(/ \d+ \S+ \d{4}.*$/, '')),
    ).toEqual([
      `${en.moderation.actions['webhook.added']} ${operator} 1 (https://example.org) ${en.moderation.detailLabels.types}: ${en.webhooks.allTypes}`,
      `${en.moderation.actions['server.added']} ${operator} erased`,
      `${en.moderation.actions['user.erased']} ${operator} ${en.moderation.erasedPlayer}`,
      `${en.moderation.actions['token.created']} ${operator} ${aSteamId(77_777)}`,
      `${en.moderation.actions['token.created']} ${operator} Rzeźnik`,
    ]);
    expect(text).toContain(`<title>${en.moderation.tabs.audit} · ${en.moderation.title} · `);
  });
});
