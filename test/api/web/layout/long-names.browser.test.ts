import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Page } from 'playwright-core';
import { sessions } from '../../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../../src/db/schema/audit-log.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { DELIVERY_FAILURES } from '../../../../src/domain/webhook.ts';
import { createApiToken } from '../../../../src/queries/users/api-tokens.ts';
import { blockUser } from '../../../../src/queries/users/user-blocks.ts';
import { findUserBySteamId } from '../../../../src/queries/users/users.ts';
import { saveDeliveries } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import { createWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../../../support/database/builders.ts';
import { createTestDatabase } from '../../../support/database/database.ts';
import { startAccountSite } from '../../../support/web/account.ts';
import {
  type BrowserSite,
  measureSpill,
  savePicture,
  startBrowserSite,
} from '../../../support/web/browser-site.ts';
import { CHROMIUM_PATH } from '../../../support/web/chromium.ts';

const isPossible = CHROMIUM_PATH !== undefined || process.env.CI === 'true';
if (!isPossible) console.warn('SKIPPED: long names in a real browser, since there is no Chromium here');
const { db, url } = await createTestDatabase();

/** One word of the widest letter, as long as a name may be. */
const word = (length: number) => 'W'.repeat(length);
const LONG = word(128);
const OWNER = aSteamId(1);
const PLAYER = aSteamId(2);
/** Without an account. */
const NOBODY = aSteamId(4);
const BLOCKED = aSteamId(5);

describe.skipIf(!isPossible)('the longest names that are allowed', () => {
  let site: BrowserSite;
  let webhookId = 0;
  beforeAll(async () => {
    site = await startBrowserSite(url, { PUBLIC_PENALTIES: '1' });
    const everything = { isAdmin: true, isOwner: true, hasSvip: true, isServiceplus: true };
    const linked = { discordUsername: LONG, discordAvatar: '' };
    const owner = await insertUser(db, 1, {
      ...linked,
      ...everything,
      nickname: LONG,
      discordId: '9223372036854775807',
    });
    await insertUser(db, 2, {
      ...linked,
      ...everything,
      nickname: 'ﷺ'.repeat(128),
      discordId: '9223372036854775806',
    });
    await insertUser(db, 3, { nickname: '😀'.repeat(64) });
    const sound = { title: LONG, durationMs: 10_000, loudnessBeforeLufs: -31, loudnessAfterLufs: -18 };
    await db.insert(roundSounds).values([
      { ...sound, steamId64: OWNER, uploadKey: 'a', status: 'ready', sha256: 'a', waveform: [1, 50, 100] },
      { ...sound, steamId64: OWNER, uploadKey: 'b', status: 'failed', failure: 'unreadable' },
      { ...sound, steamId64: PLAYER, uploadKey: 'c', status: 'measuring' },
    ]);
    for (const name of [word(64), 'ﷺ'.repeat(64), `${'long '.repeat(12)}name`]) {
      const expiresAt = new Date(Date.now() + 90 * 86_400_000);
      await createApiToken(db, owner.id, { name, expiresAt, now: new Date(), actor: { userId: owner.id } });
    }
    const byOperator = { actorUserId: null };
    await db.insert(auditLog).values([
      {
        ...byOperator,
        action: 'server.added',
        subject: 'w'.repeat(128),
        details: { address: `${word(253)}:27015` },
      },
      {
        ...byOperator,
        action: 'penalties.imported',
        subject: LONG,
        details: { file: LONG, added: 1_000_000 },
      },
      { actorUserId: owner.id, action: 'sound.uploaded', subject: OWNER, details: { title: LONG } },
      {
        actorUserId: owner.id,
        action: 'discord.linked',
        subject: OWNER,
        details: { discordId: '9223372036854775807', username: LONG },
      },
      {
        ...byOperator,
        action: 'user.changed',
        subject: OWNER,
        details: { nickname: LONG, discordUsername: LONG, discordAvatar: LONG, ...everything },
      },
    ]);
  });
  beforeAll(async () => {
    const server = await insertServer(db, { name: LONG, slug: 'w'.repeat(64), mode: LONG, region: LONG });
    const names = { playerName: LONG, adminName: LONG, reason: word(1000), serverId: server.id };
    const lifted = { liftedAt: new Date(), liftedByName: LONG, liftReason: word(1000) };
    await insertPenalties(db, [
      { ...names, playerSteamId: NOBODY },
      { ...names, playerSteamId: NOBODY, type: 'silence', status: 'UNBANNED', ...lifted },
      { ...names, playerSteamId: OWNER, type: 'warn' },
    ]);
    await insertUser(db, 5, { nickname: LONG });
    await blockUser(db, BLOCKED, { reason: word(200), now: new Date(), actor: 'operator' });
    const owner = await findUserBySteamId(db, OWNER);
    await db.insert(sessions).values({
      idHash: 'x',
      userId: owner?.id ?? 0,
      // The longest known names.
      browser: 'NAVER Whale Browser',
      system: 'Windows Phone',
      expiresAt: new Date(Date.now() + 86_400_000),
    });
    const host = Array.from({ length: 3 }, () => 'w'.repeat(63)).join('.');
    const url = `https://${host}.org/${word(1500)}`;
    const webhook = await createWebhook(db, { url, types: undefined, now: new Date(), actor: 'operator' });
    webhookId = webhook.id;
    const delivery = { messageId: `msg_${word(60)}`, type: 'penalty.created', at: new Date() };
    await saveDeliveries(db, webhook.id, [
      { ...delivery, durationMs: 10_000, status: null, failure: DELIVERY_FAILURES[0] },
      { ...delivery, durationMs: 10_000, status: 500, failure: null },
    ]);
  });
  afterAll(async () => {
    await site?.stop();
  });

  /** Elements that overflow the window or their card; the page must be no wider than its window. */
  async function listSpills(page: Page): Promise<unknown> {
    return page.evaluate(`
      [...document.querySelectorAll('body *')].filter((element) => {
        const { right, left, width } = element.getBoundingClientRect();
        const card = element.closest('.card, dialog')?.getBoundingClientRect();
        const isHidden = width <= 1 || element.closest('.sr-only, thead, .skip') !== null && innerWidth < 768;
        return !isHidden && (right > innerWidth + 1 || left < -1 || (card && right > card.right + 1));
      }).slice(0, 3).map((element) => element.outerHTML.slice(0, 120))`);
  }

  async function check(page: Page, name: string): Promise<void> {
    const { width } = page.viewportSize() ?? {};
    await savePicture(page, `long-${name}-${width}`, { fullPage: true });
    expect([name, width, await measureSpill(page), await listSpills(page)]).toEqual([name, width, 0, []]);
  }

  for (const [width, locale] of [
    [320, 'pl-PL'],
    [768, 'en-GB'],
    [1280, 'en-GB'],
  ] as const) {
    test(`fit every page at ${width} px in ${locale} (pictures in test/artifacts)`, async () => {
      const page = await site.signIn(OWNER, { locale, viewport: { width, height: 800 } });
      await check(page, 'account');
      await page.locator('#tokens a.button-danger').last().click();
      await page.locator('dialog[open]').waitFor();
      await check(page, 'dialog');
      await page.keyboard.press('Escape');
      const question = (await page.locator('#tokens a.button-danger').last().getAttribute('href')) ?? '';
      for (const [name, path] of [
        ['question', question],
        ['sound-question', '/account/roundsound/delete'],
        ['unlink', '/account/discord/unlink'],
        ['users', '/account/moderation'],
        ['nobody', `/account/moderation?q=${LONG}`],
        ['user', `/account/moderation/users/${OWNER}`],
        ['other-user', `/account/moderation/users/${PLAYER}`],
        ['audit', '/account/moderation/audit'],
        ['sounds', '/account/moderation/sounds'],
        ['sounds-question', `/account/moderation/sounds/${PLAYER}/delete`],
        ['blocked', `/account/moderation/users/${BLOCKED}`],
        ['player', `/account/moderation/users/${NOBODY}`],
        ['webhooks', '/account/moderation/webhooks'],
        ['webhook', `/account/moderation/webhooks/${webhookId}`],
        ['penalties', '/penalties'],
        ['penalties-search', `/penalties?q=${LONG.slice(0, 64)}`],
        ['server', `/servers/${'w'.repeat(64)}`],
        ['missing', `/account/${LONG}`],
      ] as const) {
        await page.goto(site.origin + path);
        await check(page, name);
      }
      await page.goto(`${site.origin}/account`);
      await page.fill('#token-name', `${width}${locale}${LONG}`.slice(0, 64));
      await page.click('form.create button');
      await page.locator('#new-token').waitFor();
      await check(page, 'new-token');
      await page.context().close();
    });
  }

  test('fit the page where the site itself has a long name', async () => {
    const label = 'w'.repeat(63);
    const long = startAccountSite({
      db,
      steam: site.steam,
      publicUrl: `http://${label}.${label}.${label}.example.org`,
    });
    for (const width of [320, 1280]) {
      const page = await site.signIn(OWNER, { viewport: { width, height: 800 } });
      await page.context().clearCookies();
      await page.goto(`${long.origin}/account`);
      await check(page, 'site-name');
      await page.context().close();
    }
    await long.stop();
  });
});
