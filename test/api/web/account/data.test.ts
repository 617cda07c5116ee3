import { describe, expect, test } from 'bun:test';
import { and, eq } from 'drizzle-orm';
import { auditLog } from '../../../../src/db/schema/audit-log.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import { openBrowser, signIn } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { db, steam, player } = await openMemberSite();

async function countExports(): Promise<number> {
  const ofPlayer = and(eq(auditLog.action, 'user.exported'), eq(auditLog.subject, player.steamId));
  return (await db.select().from(auditLog).where(ofPlayer)).length;
}

describe('the download of own data', () => {
  test('counts towards the limit of forms', async () => {
    const spent = { take: () => ({ isAllowed: false, resetSeconds: 9 }) };
    const formless = startAccountSite({ db, steam, limits: { forms: spent } });
    const browser = openBrowser(formless.origin);
    await signIn(browser);
    const { status, headers, text } = await browser.get('/account/data');
    await formless.stop();
    expect([status, headers.get('retry-after')]).toEqual([429, '9']);
    expect(text).toContain('<h1 id="error">Too many attempts</h1>');
    expect(await countExports()).toBe(0);
  });
});
