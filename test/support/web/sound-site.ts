import { afterAll, beforeEach, expect } from 'bun:test';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openSoundFolders, publishedPath } from '../../../media/sound-files.ts';
import { removeSound, storeUpload } from '../../../media/uploads.ts';
import { users } from '../../../src/db/schema/accounts.ts';
import { auditLog } from '../../../src/db/schema/audit-log.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import { makeFolder } from '../audio/ffmpeg-engines.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { startAccountSite } from './account.ts';
import { type Browser, openBrowser, type Page, signIn } from './browser.ts';

export const MAX_BYTES = 1024 * 1024;
export const PLAYER = aSteamId(1);

/**
 * The account page with a folder of sounds. Before each test there is no sound, and `visit.browser` is newly signed in as
 * {@link PLAYER}.
 */
export async function openSoundSite() {
  const { db } = await createTestDatabase();
  const root = await makeFolder('sound-section');
  const folders = await openSoundFolders({
    dataDir: join(root.path, 'data'),
    storageDir: join(root.path, 'storage'),
  });
  const steam = startSteamOpenIdProvider();
  steam.approvesAtOnce = true;
  /** The signed-in player's browser, and what the disk says to their uploads. */
  const visit: { browser: Browser; diskTrouble?: Error | undefined } = {
    browser: openBrowser('http://127.0.0.1'),
  };
  const site = startAccountSite({
    db,
    steam,
    sounds: {
      limits: {
        maxSeconds: 10,
        maxUploadBytes: MAX_BYTES,
      },
      storeUpload: (upload) => {
        const bytes = visit.diskTrouble ? failingWith(visit.diskTrouble) : upload.bytes;
        return storeUpload(db, folders, { upload: { ...upload, bytes }, maxBytes: MAX_BYTES });
      },
      removeSound: (removal) => removeSound(db, folders, removal),
    },
  });
  afterAll(async () => {
    await site.stop();
    await steam.stop();
    await root.remove();
  });

  beforeEach(async () => {
    visit.diskTrouble = undefined;
    await db.delete(auditLog);
    await db.delete(roundSounds);
    await db.delete(users);
    for (const name of await readdir(folders.inbox)) await rm(join(folders.inbox, name), { recursive: true });
    steam.steamId = PLAYER;
    visit.browser = openBrowser(site.origin);
    await signIn(visit.browser);
  });

  async function csrfToken(): Promise<string> {
    return (await visit.browser.get('/account')).field('csrf_token') ?? '';
  }

  async function upload(file: File, headers: Record<string, string> = {}): Promise<Response> {
    const form = new FormData();
    form.append('csrf_token', await csrfToken());
    form.append('file', file);
    return send(form, headers);
  }

  async function listUploadsUnderWay(): Promise<string[]> {
    const names = await readdir(folders.inbox, { recursive: true });
    return names.filter((name) => name.endsWith('upload.part'));
  }

  async function send(
    body: FormData | URLSearchParams,
    headers: Record<string, string> = {},
  ): Promise<Response> {
    const response = await fetch(`${site.origin}/account/roundsound`, {
      method: 'POST',
      body,
      headers: { cookie: visit.browser.cookieLine(), ...headers },
      redirect: 'manual',
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ''] = line.split(';');
      visit.browser.cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1));
    }
    return response;
  }

  async function insertReadySound(title: string): Promise<void> {
    await Bun.write(publishedPath(folders, PLAYER), 'mp3');
    await db.insert(roundSounds).values({
      steamId64: PLAYER,
      title,
      uploadKey: 'k1',
      status: 'ready',
      sha256: 'abcdef0123456789abcdef',
      loudnessBeforeLufs: -31.42,
      loudnessAfterLufs: -18.01,
      durationMs: 7500,
      waveform: Array.from({ length: 160 }, (_, index) => index % 100),
      readyAt: new Date(),
    });
  }

  async function signInAs(number: number): Promise<Browser> {
    steam.steamId = aSteamId(number);
    const other = openBrowser(site.origin);
    const page: Page = await signIn(other);
    expect(page.status).toBe(200);
    return other;
  }

  return {
    db,
    folders,
    steam,
    site,
    visit,
    upload,
    send,
    csrfToken,
    listUploadsUnderWay,
    insertReadySound,
    signInAs,
  };
}

async function* failingWith(error: Error): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
  throw error;
}
