import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { fileURLToPath } from 'node:url';
import { aSteamId, insertPenalties, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import {
  type BrowserSite,
  measureSpill,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const DAY_MS = 86_400_000;
const AXE = await Bun.file(fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))).text();
const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: pages about penalties in a real browser, since there is no Chromium');

const { url, db } = await createTestDatabase();
const PLAYER = aSteamId(1);

describe.skipIf(!isPossible)('pages about penalties in Chromium', () => {
  let site: BrowserSite;

  beforeAll(async () => {
    await insertUser(db, 1, { nickname: 'Rzeźnik', isAdmin: true, isOwner: true });
    const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);
    const penalty = {
      playerSteamId: PLAYER,
      playerName: `صقر ${'x'.repeat(100)}`,
      adminName: 'Żółw Ninja '.repeat(10),
      reason: `نص طويل ${'Wallhack '.repeat(20)}${'y'.repeat(100)}`,
    };
    await insertPenalties(db, [
      { ...penalty, createdAt: inDays(-1), endsAt: inDays(6), durationMinutes: 10_080 },
      { ...penalty, createdAt: inDays(-2), type: 'gag' },
      ...Array.from({ length: 14 }, (_, number) => ({
        ...penalty,
        type: 'mute' as const,
        status: 'UNBANNED' as const,
        createdAt: inDays(-20 - number),
        liftedAt: inDays(-10),
        liftedByName: 'Ala',
        liftReason: 'Odwołanie przyjęte',
      })),
    ]);
    site = await startBrowserSite(url, { PUBLIC_PENALTIES: '1', APPEAL_URL: 'https://example.org/appeals' });
  });

  afterAll(() => site?.stop());

  test.each([
    [390, 'light', 'pl-PL'],
    [1280, 'dark', 'en-GB'],
    // What 1280 pixels are at 200 %.
    [640, 'dark', 'en-GB'],
  ] as const)(
    'fit %d px without a barrier (pictures in test/artifacts)',
    async (width, colorScheme, locale) => {
      const page = await site.signIn(PLAYER, { viewport: { width, height: 900 }, colorScheme, locale });
      for (const [name, path] of [
        ['record', '/account'],
        ['record-moderation', `/account/moderation/users/${PLAYER}`],
        ['penalties', '/penalties'],
      ]) {
        await page.goto(`${site.origin}${path}`);
        await savePicture(page, `${name}-${width}`, { fullPage: true });
        expect([name, await measureSpill(page)]).toEqual([name, 0]);
        await page.evaluate(AXE);
        const found = await page.evaluate<unknown[]>(
          'axe.run().then(({ violations }) => violations.map(({ id, nodes }) => [id, nodes[0].html]))',
        );
        expect([name, found]).toEqual([name, []]);
      }
      await page.context().close();
    },
  );
});
