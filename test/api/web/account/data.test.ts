import { describe, expect, test } from 'bun:test';
import { and, eq, sql } from 'drizzle-orm';
import { createDownloads } from '../../../../api/web/account/downloads.ts';
import { en } from '../../../../api/web/locales/en.ts';
import { auditLog } from '../../../../src/db/schema/accounts.ts';
import { erasePerson } from '../../../../src/queries/personal-data/erasure.ts';
import { holdOffErasures } from '../../../../src/queries/personal-data/tombstones.ts';
import { aSteamId, insertPenalties } from '../../../support/database/builders.ts';
import { queueBehind } from '../../../support/database/lock-waits.ts';
import { waitFor } from '../../../support/wait.ts';
import { openBrowser, type Page, signIn } from '../../../support/web/browser.ts';
import { openUserSite } from '../../../support/web/user-site.ts';

const { db, site, startSite, player, signedIn } = await openUserSite();

async function countExports(): Promise<number> {
  const ofPlayer = and(eq(auditLog.action, 'user.exported'), eq(auditLog.subject, player.steamId));
  return (await db.select().from(auditLog).where(ofPlayer)).length;
}

describe('the download of own data', () => {
  test('counts towards the limit of forms', async () => {
    const spent = { take: () => ({ isAllowed: false, resetSeconds: 9 }) };
    const browser = openBrowser(startSite({ limits: { forms: spent } }).origin);
    await signIn(browser);
    const { status, headers, text } = await browser.get('/account/data');
    expect([status, headers.get('retry-after')]).toEqual([429, '9']);
    expect(text).toContain(`<h1 id="error">${en.errors.titles.tooMany}</h1>`);
    expect(await countExports()).toBe(0);
  });

  test('HEAD describes the download, reads nothing and writes no audit entry', async () => {
    const browser = await signedIn();
    const ask = async (method: string) => {
      const headers = { cookie: `session=${browser.cookies.get('session')}` };
      const response = await fetch(`${site.origin}/account/data`, { method, headers });
      await response.arrayBuffer();
      return response;
    };
    const namesAndValues = ({ headers }: Response) =>
      [...headers].filter(([name]) => !['content-length', 'transfer-encoding', 'date'].includes(name));
    const described = await ask('HEAD');
    expect([described.status, described.headers.has('content-length')]).toEqual([200, false]);
    expect(await countExports()).toBe(0);
    expect(namesAndValues(described)).toEqual(namesAndValues(await ask('GET')));
    expect(await countExports()).toBe(1);
    // Another one within an hour is no news.
    await ask('GET');
    expect(await countExports()).toBe(1);
  });

  test('ends when its reader leaves', async () => {
    const browser = await signedIn();
    await db.execute(sql`insert into penalties
      (type, status, player_steamid, admin_steamid, reason, duration_minutes, created_at)
      select 'ban', 'EXPIRED', 0, ${player.steamId}::bigint, '', 1, now() from generate_series(1, 15000)`);
    const countSnapshots = async () => {
      const [row] = await db.execute<{ count: number }>(
        sql`select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name like 'export %'`,
      );
      return row?.count;
    };
    const leaving = new AbortController();
    const headers = { cookie: `session=${browser.cookies.get('session')}` };
    const response = await fetch(`${site.origin}/account/data`, { headers, signal: leaving.signal });
    await response.body?.getReader().read();
    expect(await countSnapshots()).toBe(1);
    leaving.abort();
    await waitFor(async () => (await countSnapshots()) === 0);
  });

  test.each([
    ['nothing', false],
    ['a penalty', true],
  ])(
    'the download gives 404 when the account was deleted meanwhile and %s is kept',
    async (_, isPenaltyKept) => {
      const browser = await signedIn();
      if (isPenaltyKept) await insertPenalties(db, [{ playerSteamId: player.steamId }]);
      const options = { withPenalties: false, actor: 'member', removeSounds: async () => {} } as const;
      const erase = () => erasePerson(db, player.steamId, options);
      let page: Page | undefined;
      const download = async () => {
        page = await browser.get('/account/data');
      };
      await queueBehind(db, holdOffErasures, [erase, download]);
      expect([page?.status, page?.headers.get('content-disposition')]).toEqual([404, null]);
      expect(page?.text).toContain(`<h1 id="error">${en.errors.titles.notFound}</h1>`);
      expect(await countExports()).toBe(0);
    },
  );
});

const now = new Date();
const user = (id: number) => ({ id, steamId64: aSteamId(id) });

/** Downloads of endless data. */
function openEndless() {
  const state = { open: 0 };
  const downloads = createDownloads({
    openExport: async () => {
      async function* chunks() {
        for (;;) yield new Uint8Array(1024);
      }
      state.open += 1;
      const close = async () => {
        state.open -= 1;
      };
      return { chunks: chunks(), close };
    },
  });
  return { state, downloads };
}

test('a user has one download at a time, which ends when its reader leaves', async () => {
  const { state, downloads } = openEndless();
  const first = await downloads.begin(user(1), now);
  await expect(downloads.begin(user(1), now)).rejects.toMatchObject({ status: 429, limit: 10 });
  expect(state.open).toBe(1);
  await first.cancel();
  expect(state.open).toBe(0);
  await (await downloads.begin(user(1), now)).cancel();
});

test('four users download at once, and the service ends them when it stops', async () => {
  const { state, downloads } = openEndless();
  const streams = await Promise.all([1, 2, 3, 4].map((id) => downloads.begin(user(id), now)));
  await expect(downloads.begin(user(5), now)).rejects.toMatchObject({ status: 503 });
  downloads.stop();
  expect(state.open).toBe(0);
  await expect(new Response(streams[0]).bytes()).rejects.toThrow();
  await (await downloads.begin(user(5), now)).cancel();
});

test('a download that cannot be opened frees its slot', async () => {
  let tries = 0;
  const downloads = createDownloads({
    openExport: async () => {
      tries += 1;
      return undefined;
    },
  });
  for (let attempt = 0; attempt < 5; attempt++) {
    await expect(downloads.begin(user(1), now)).rejects.toThrow('The account was deleted');
  }
  expect(tries).toBe(5);
});
