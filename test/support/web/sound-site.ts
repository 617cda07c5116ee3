import { beforeEach } from 'bun:test';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { queueUpload, receiveUpload, removeSound } from '../../../media/uploads.ts';
import { auditLog, users } from '../../../src/db/schema/accounts.ts';
import { roundSounds } from '../../../src/db/schema/round-sounds.ts';
import type { SoundAudience } from '../../../src/domain/rights/sound-audience.ts';
import { openSounds, publishedPath } from '../audio/sound-folders.ts';
import { aSteamId } from '../database/builders.ts';
import { createTestFolder } from '../service/program.ts';
import type { AccountSiteOptions } from './account.ts';
import { type Browser, openBrowser, type Page } from './browser.ts';
import { openUserSite } from './user-site.ts';

export const MAX_BYTES = 1024 * 1024;
export const PLAYER = aSteamId(1);

type Fields = Record<string, string>;

/**
 * The account page with a folder of sounds. Before each test there is no sound, and `visit.browser` is newly signed in as
 * {@link PLAYER}.
 */
export async function openSoundSite() {
  const root = createTestFolder();
  const { sounds, folders } = await openSounds({
    dataDir: join(root, 'data'),
    storageDir: join(root, 'storage'),
  });
  /** The signed-in player's browser, and what the disk says to their uploads. */
  const visit: { browser: Browser; diskTrouble?: Error | undefined } = {
    browser: openBrowser('http://127.0.0.1'),
  };
  const actions: NonNullable<AccountSiteOptions['sounds']> = {
    limits: { maxSeconds: 10, maxUploadBytes: MAX_BYTES, audience: 'everyone' },
    receiveUpload: (steamId64, arriving) => {
      const bytes = visit.diskTrouble ? failingWith(visit.diskTrouble) : arriving;
      return receiveUpload(db, sounds, { steamId64, bytes, maxBytes: MAX_BYTES });
    },
    queueUpload: (upload) => queueUpload(db, sounds, upload),
    removeSound: (removal) => removeSound(db, sounds, removal),
  };
  const { db, site, startSite, signedIn } = await openUserSite({ sounds: actions });
  /** Starts the pages with sounds for an audience, beside `site`. */
  const startSiteFor = (audience: SoundAudience) =>
    startSite({ sounds: { ...actions, limits: { ...actions.limits, audience } } });

  beforeEach(async () => {
    visit.diskTrouble = undefined;
    await db.delete(auditLog);
    await db.delete(roundSounds);
    await db.delete(users);
    for (const name of await readdir(folders.inbox)) await rm(join(folders.inbox, name), { recursive: true });
    visit.browser = await signedIn(1);
  });

  async function csrfToken(): Promise<string> {
    return (await visit.browser.get('/account')).field('csrf_token') ?? '';
  }

  /** Posts the form of an upload, with fields before or after its file. */
  function upload(
    file: File,
    { headers = {}, before = {}, after = {} }: Partial<Record<'headers' | 'before' | 'after', Fields>> = {},
  ): Promise<Page> {
    const form = new FormData();
    for (const [name, value] of Object.entries(before)) form.append(name, value);
    form.append('file', file);
    for (const [name, value] of Object.entries(after)) form.append(name, value);
    return visit.browser.post('/account/roundsound', form, headers);
  }

  async function listUploadsUnderWay(): Promise<string[]> {
    const names = await readdir(folders.inbox, { recursive: true });
    return names.filter((name) => name.endsWith('upload.part'));
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

  return {
    db,
    folders,
    site,
    startSiteFor,
    visit,
    upload,
    csrfToken,
    listUploadsUnderWay,
    insertReadySound,
    signedIn,
  };
}

async function* failingWith(error: Error): AsyncGenerator<Uint8Array> {
  yield new Uint8Array(1);
  throw error;
}
