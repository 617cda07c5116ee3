import { beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../api/web/locales/texts.ts';
import { auditLog } from '../../../src/db/schema/accounts.ts';
import { serverSamples } from '../../../src/db/schema/servers.ts';
import { insertPenalties, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { insertServerWithHistory } from '../../support/database/server-history.ts';
import { NOW, startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';
import { type Browser, openBrowser } from '../../support/web/browser.ts';
import { openMemberSite } from '../../support/web/member-site.ts';
import { rowsOf, textOf } from '../../support/web/page-text.ts';

const TIME_ZONE = 'Europe/Warsaw';
const { db, site, signedIn } = await openMemberSite({ settings: { timeZone: TIME_ZONE } });

describe('the page of a server', () => {
  test('the page of a server has days and times of TIME_ZONE', async () => {
    const { db: own, url } = await createTestDatabase();
    const service = await startTestService({ databaseUrl: url, env: { TIME_ZONE } });
    const visitor = openBrowser(service.origin);
    const { id } = await insertServerWithHistory(own, { now: NOW, days: 0, slug: 'one' });
    const sample = { serverId: id, periodSeconds: 300, playersMaximum: 0, maxPlayers: 24 };
    await own.insert(serverSamples).values([
      // Half past eleven and half past midnight in Warsaw: the two sides of one hour in UTC.
      { ...sample, sampledAt: new Date('2026-11-18T22:30:00Z'), playersAverage: 0, onlineShare: 0 },
      { ...sample, sampledAt: new Date('2026-11-18T23:30:00Z'), playersAverage: 9, onlineShare: 1 },
    ]);
    await waitFor(async () => (await visitor.get('/servers/one')).status === 200);
    const { uptimeOn } = PAGE_TEXTS.en.server;
    const { text } = await visitor.get('/servers/one', { 'accept-language': 'en' });
    expect(text).toContain(`<title>${uptimeOn('18 Nov', '0%')}</title>`);
    expect(text).toContain(`<title>${uptimeOn('19 Nov', '100%')}</title>`);
    const week = /<figure class="chart" aria-labelledby="chart-week-caption">.*?<\/figure>/s.exec(text)?.[0];
    expect(rowsOf(week ?? '').map((row) => textOf(row))).toContain('19 Nov 2026, 00:00 CET 9 0 100%');
  });
});

describe('pages of moderation', () => {
  let admin: Browser;
  beforeEach(() => {
    site.clock.now = NOW;
  });
  beforeAll(async () => {
    await insertUser(db, 901, { nickname: 'Szef', isAdmin: true });
    await insertPenalties(db, [
      { reason: 'first', createdAt: new Date('2026-03-28T23:00:00Z') },
      { reason: 'last', createdAt: new Date('2026-03-29T21:59:59Z') },
      { reason: 'after', createdAt: new Date('2026-03-29T22:00:00Z') },
    ]);
    admin = await signedIn(901);
  });

  test('the list of penalties finds a day of TIME_ZONE, also one that has 23 hours', async () => {
    const { text } = await admin.get(
      '/account/moderation/penalties?created_from=2026-03-29&created_to=2026-03-29',
    );
    expect(rowsOf(text)).toEqual([expect.stringContaining('last'), expect.stringContaining('first')]);
    expect(text).toContain(TIME_ZONE);
    expect(text).toContain('title="29 Mar 2026, 00:00 CET"');
    expect(text).toContain('title="29 Mar 2026, 23:59 CEST"');
  });

  test('the audit log finds a day of TIME_ZONE', async () => {
    const entry = { action: 'server.added', subject: 'mirage' };
    await db.insert(auditLog).values([
      { ...entry, at: new Date('2026-11-18T22:59:59Z') },
      { ...entry, at: new Date('2026-11-18T23:00:00Z') },
    ]);
    const { text } = await admin.get('/account/moderation/audit?action=server.added&day=2026-11-19');
    expect(rowsOf(text)).toEqual([expect.stringContaining('19 Nov 2026, 00:00 CET')]);
  });
});
