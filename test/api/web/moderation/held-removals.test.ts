import { expect, test } from 'bun:test';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { heldRemovals } from '../../../../src/db/schema/held-removals.ts';
import { insertUser } from '../../../support/database/builders.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';
import { rowsOf } from '../../../support/web/page-text.ts';

const { db, signedIn } = await openMemberSite();
const { held } = PAGE_TEXTS.en.moderation;
const PATHS = ['/account/moderation', '/account/moderation/admins'];

test('shows administrators what is held back, and moderators nothing of it', async () => {
  await insertUser(db, 901, { isAdmin: true });
  await insertUser(db, 902, { isModerator: true });
  const [admin, moderator] = [await signedIn(901), await signedIn(902)];
  for (const path of PATHS) expect((await admin.get(path)).text).not.toContain(held.title);
  const since = new Date('2026-11-21T12:00:00Z');
  await db.insert(heldRemovals).values([
    { system: 'sourcebans', kind: 'penalties', subject: 'sb_bans', removals: 4316, since },
    { system: 'vipcore', kind: 'flags', subject: 'has_svip', removals: 56, since },
  ]);
  for (const path of PATHS) {
    const rows = rowsOf((await admin.get(path)).text);
    expect(rows).toContainEqual(expect.stringMatching(/^sourcebans sb_bans 4316 /));
    expect(rows).toContainEqual(
      expect.stringMatching(new RegExp(`^vipcore ${PAGE_TEXTS.en.account.badges.hasSvip} 56 `)),
    );
  }
  expect((await moderator.get('/account/moderation/admins')).text).not.toContain(held.title);
});
