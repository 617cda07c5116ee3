import { describe, expect, test } from 'bun:test';
import { eq, sql } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { hashApiToken } from '../../../../src/domain/api-token.ts';
import { createApiToken, findLiveApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { aSteamId, insertUser } from '../../../support/database/builders.ts';
import type { Page } from '../../../support/web/browser.ts';
import { openModeration } from '../../../support/web/moderation.ts';

const { en } = PAGE_TEXTS;

const { db, as, admin, userOf } = await openModeration();

describe('an admin', () => {
  test('revokes any token, which is in the audit log', async () => {
    const target = await userOf(1);
    const { token, id } = await createApiToken(db, target.id, {
      name: 'Leaked',
      now: new Date(),
      actor: 'operator',
    });
    const user = `/account/moderation/users/${aSteamId(1)}`;
    const { text } = await admin.get(user);
    expect(text).toContain(en.tokens.revokeLead('Leaked', token.slice(-4)));
    expect(text).toContain(`action="${user}/tokens/${id}/revoke"`);
    const page = await admin.post(`${user}/tokens/${id}/revoke`);
    expect([page.status, page.location]).toEqual([303, `${user}#tokens`]);
    const after = await admin.follow(page);
    expect(after.text).toContain(en.notices['token-revoked']);
    expect(after.text).toContain('state-revoked');
    expect(await findLiveApiToken(db, hashApiToken(token), new Date())).toBeUndefined();

    const [entry] = await db.select().from(auditLog).where(eq(auditLog.action, 'token.revoked'));
    expect(entry).toMatchObject({
      actorUserId: (await userOf(4)).id,
      subject: aSteamId(1),
      details: { tokenId: id, name: 'Leaked' },
    });
    const { detailLabels: label, neverExpires } = en.moderation;
    const audit = (await admin.get('/account/moderation/audit')).text;
    expect(audit).toMatch(
      new RegExp(
        `${label.name}: \\S*Leaked\\S* · ${label.tokenId}: \\S+ · ${label.expiresAt}: ${neverExpires}`,
      ),
    );
    expect((await admin.post(`/account/moderation/users/${aSteamId(2)}/tokens/${id}/revoke`)).status).toBe(
      404,
    );
  });

  test('admins cannot set flags', async () => {
    const path = `/account/moderation/users/${aSteamId(4)}/flags`;
    expect((await admin.post(path, { isOwner: 'on', isAdmin: 'on', shown_flags: 'isAdmin' })).status).toBe(
      403,
    );
    expect((await userOf(4)).isOwner).toBe(false);
    expect((await admin.get(`/account/moderation/users/${aSteamId(4)}`)).text).toContain(
      en.moderation.ownersOnly,
    );
  });
});

describe("a user's tokens", () => {
  const LIVE = 3;
  const ENDED = 5_000;

  test("moderators see a user's live tokens, then the newest 25 ended ones, however many were revoked", async () => {
    const clicker = await insertUser(db, 70, { nickname: 'Clicker' });
    for (let number = 1; number <= LIVE; number++) {
      await createApiToken(db, clicker.id, { name: `Live ${number}`, now: new Date(), actor: 'operator' });
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

  test('the account page lists live tokens only', async () => {
    const page = await (await as(70)).get('/account');
    expect(page.text.length).toBeLessThan(20_000);
    expect(namesOn(page)).toEqual(['Live 3', 'Live 2', 'Live 1']);
  });

  function namesOn({ text }: Page): string[] {
    return [...text.matchAll(/<th scope="row" class="list-title list-words">([^<]*)</g)].map(
      ([, name]) => name ?? '',
    );
  }
});
