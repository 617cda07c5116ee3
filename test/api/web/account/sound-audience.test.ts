import { beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { PAGE_TEXTS } from '../../../../api/web/locales/texts.ts';
import { users } from '../../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound, insertUser } from '../../../support/database/builders.ts';
import type { Browser, Page } from '../../../support/web/browser.ts';
import { openMemberSite } from '../../../support/web/member-site.ts';

const { en } = PAGE_TEXTS;

const PLAYER = aSteamId(1);
let stored = 0;
const { db, signedIn } = await openMemberSite({
  sounds: {
    limits: { maxSeconds: 10, maxUploadBytes: 1024 * 1024, audience: ['svip', 'admin'] },
    receiveUpload: async (_, bytes) => {
      for await (const _chunk of bytes) stored++;
      return 'key';
    },
    queueUpload: async () => undefined,
    removeSound: async () => undefined,
  },
});

let browser: Browser;
beforeEach(async () => {
  stored = 0;
  await db.delete(roundSounds);
  await db.delete(users);
  browser = await signedIn(1);
});

test('the page says who may have a sound, instead of the form, and plays none', async () => {
  await insertReadySound(db, PLAYER, 'fanfare.mp3');
  const { text } = await browser.get('/account');
  expect(text).toContain(
    en.roundSound.onlyFor(`${en.roundSound.groups.svip} and ${en.roundSound.groups.admin}`),
  );
  expect(text).toContain(en.roundSound.keptUnheard);
  expect(text).not.toContain('action="/account/roundsound#sound"');
  expect(text).not.toContain('<audio');
});

test('an upload of somebody who may have none is 403, and nothing is stored', async () => {
  const sent = await upload();
  expect(sent.status).toBe(403);
  expect(JSON.parse(sent.text)).toEqual({
    success: false,
    message: en.errors['sound-not-allowed'],
  });
  expect(stored).toBe(0);
});

test.each(['hasSvip', 'isAdmin', 'isOwner'] as const)(
  'the form for sounds is there with %s, and works',
  async (flag) => {
    await db.update(users).set({ [flag]: true });
    expect((await browser.get('/account')).text).toContain('action="/account/roundsound#sound"');
    expect((await upload()).status).toBe(202);
    expect(stored).toBe(1);
  },
);

function upload(): Promise<Page> {
  const form = new FormData();
  form.append('file', new File(['any bytes'], 'fanfare.mp3'));
  return browser.post('/account/roundsound', form, { accept: 'application/json' });
}

test('moderators see that a sound is kept, without a player, where its owner may not have one', async () => {
  await insertUser(db, 2, { nickname: 'SVIP', hasSvip: true });
  await insertUser(db, 3, { nickname: 'Nobody' });
  for (const number of [2, 3, 4]) await insertReadySound(db, aSteamId(number));
  await db.update(users).set({ isAdmin: true }).where(eq(users.steamId64, PLAYER));
  const list = (await browser.get('/account/moderation/sounds')).text;
  expect(list.match(/<audio[^>]*src="[^"]*(\d{17})[^"]*"/g)?.length).toBe(1);
  expect(list).toContain(`src="/storage/roundsound/${aSteamId(2)}.mp3`);
  expect(list.split(en.roundSound.moderation.kept).length - 1).toBe(2);
  for (const [number, isPlayed] of [
    [2, true],
    [3, false],
  ] as const) {
    const { text } = await browser.get(`/account/moderation/users/${aSteamId(number)}`);
    expect([number, text.includes('<audio'), text.includes(en.roundSound.moderation.kept)]).toEqual([
      number,
      isPlayed,
      !isPlayed,
    ]);
  }
});
