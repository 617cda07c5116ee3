import { constants, existsSync, type Stats } from 'node:fs';
import {
  copyFile,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LRUCache } from 'lru-cache';
import { hasErrorCode, InvalidInput, Unavailable } from '../src/domain/errors.ts';
import {
  isUploadKey,
  RENDITIONS,
  type Rendition,
  type SoundEntry,
  soundFileName,
  tryParseSoundFileName,
  UPLOAD_NAME,
} from '../src/domain/round-sound.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import {
  hashFile,
  makeFolder,
  moveFile,
  RESTORE_MARK,
  syncToDisk,
  toFolderFailure,
} from '../src/runtime/folder.ts';
import { isDiskTrouble, isNotFound } from './disk-trouble.ts';

/** The only owner of the files of sounds. Processes that share a database share its folders too. */
export type SoundStore = Awaited<ReturnType<typeof openSoundStore>>;

type Folders = {
  /** One folder for each accepted upload, until it is ready or failed. */
  inbox: string;
  /** The files that are served. Hidden names are never served. */
  published: string;
  /** Files without a row that were found in `published`; kept for a while, never served. */
  orphans: string;
};

type Options = {
  /** Moves a file, replacing the one at its new path; `rename` by default. */
  move?: (from: string, to: string) => Promise<void>;
};

/**
 * Opens the folders under the configured `DATA_DIR` and `STORAGE_DIR`; creates them when missing.
 * @throws {InvalidInput} or {Unavailable} when they cannot be used, in one line that names the setting.
 */
export async function openSoundStore(
  { dataDir, storageDir }: { dataDir: string; storageDir: string },
  { move = rename }: Options = {},
) {
  const folders: Folders = {
    inbox: join(dataDir, 'inbox'),
    published: join(storageDir, 'roundsound'),
    orphans: join(storageDir, 'roundsound-orphans'),
  };
  await makeFolder({ setting: 'DATA_DIR', root: dataDir }, folders.inbox);
  await makeFolder({ setting: 'STORAGE_DIR', root: storageDir }, folders.published);
  const uploads = openUploads(folders);
  const sounds = openPublished(folders, move);
  return {
    uploads,
    ...sounds,
    backups: openHeldFiles(folders, storageDir),
    restoring: openRestoring(folders, sounds),
    /** The id that distinguishes this storage from others, and the file that holds it. */
    identify: () => identifyStorage(join(storageDir, STORAGE_ID_FILE)),
  };
}

const PART_NAME = 'upload.part';
/** Stands for the folder of an invalid key; never created. */
const NO_UPLOAD = '.no-upload';

/** Uploads until they are processed, by keys that {@link isUploadKey} accepts. */
function openUploads({ inbox }: Folders) {
  /** Keys are generated here, but a row may come from somebody else's backup or dump. */
  const folderOf = (key: string) => join(inbox, isUploadKey(key) ? key : NO_UPLOAD);
  const remove = (key: string) => rm(folderOf(key), { recursive: true, force: true });
  return {
    /**
     * Stores an upload, which survives a power failure once this returns.
     * @returns its key.
     * @throws {InvalidInput} when it is empty or too large; what `bytes` and the disk fail with. Then nothing of it is kept.
     */
    put: async (bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<string> => {
      const key = Bun.randomUUIDv7();
      const folder = folderOf(key);
      try {
        await mkdir(folder);
        await writeLimited(join(folder, PART_NAME), bytes, maxBytes);
        await rename(join(folder, PART_NAME), join(folder, UPLOAD_NAME));
        await syncToDisk(folder);
        await syncToDisk(inbox);
        return key;
      } catch (error) {
        await remove(key);
        throw error;
      }
    },
    has: (key: string) => Bun.file(join(folderOf(key), UPLOAD_NAME)).exists(),
    /** Removes an upload with all scratch folders. */
    remove,
    /** The keys, and the time of the last change. */
    list: async (): Promise<{ key: string; changedAtMs: number }[]> => {
      const keys = (await readdir(inbox)).filter(isUploadKey);
      return Promise.all(
        keys.map(async (key) => ({ key, changedAtMs: (await statIfFound(join(inbox, key)))?.mtimeMs ?? 0 })),
      );
    },
    /** A folder with a copy of the upload, for one attempt: a worker that lost its lease may still write into its own. */
    openScratch: async (key: string, attempt: number): Promise<string> => {
      const scratch = join(folderOf(key), `attempt-${attempt}`);
      await rm(scratch, { recursive: true, force: true });
      await mkdir(scratch);
      await copyFile(join(folderOf(key), UPLOAD_NAME), join(scratch, UPLOAD_NAME));
      return scratch;
    },
  };
}

async function writeLimited(path: string, bytes: AsyncIterable<Uint8Array>, maxBytes: number): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    let size = 0;
    for await (const chunk of bytes) {
      size += chunk.byteLength;
      if (size > maxBytes) {
        throw new InvalidInput(`The file is too large: at most ${Math.floor(maxBytes / 1_048_576)} MB`);
      }
      await file.writeFile(chunk);
    }
    if (size === 0) throw new InvalidInput('The file is empty');
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Its presence tells a folder of published sounds from an empty mount point, where files only seem to be lost. */
const MARK_NAME = '.published-sounds';

/** Some 250 sounds of ten seconds; a sound of a minute is 1.4 MB. */
const CACHED_BYTES = 64 * 1024 * 1024;
/** Error codes for a missing file and a symbolic link. */
const NO_FILE_CODES = ['ENOENT', 'ELOOP'];

/** A published file of a player. */
type Published = { steamId64: SteamId64; rendition: Rendition };

/**
 * The published files: `{steamid64}.mp3` and `{steamid64}.voice.mp3`. Publishing has two steps, since two files cannot be
 * renamed at once: rendered files are staged, then their hashes are saved in the row, then they are moved into place, then
 * the row becomes ready. A row with hashes that is not ready is finished by {@link SoundStore.publish}.
 */
function openPublished({ published, orphans }: Folders, move: (from: string, to: string) => Promise<void>) {
  const pathOf = ({ steamId64, rendition }: Published) =>
    join(published, soundFileName(steamId64, rendition));
  const stagedPath = (soundId: number, rendition: Rendition) =>
    join(published, rendition === 'voice' ? `.${soundId}.voice.partial` : `.${soundId}.partial`);
  const setAside = async (fileName: string): Promise<void> => {
    await mkdir(orphans, { recursive: true });
    await moveFile(join(published, fileName), join(orphans, `${Date.now()}-${fileName}`));
  };
  const cache = new LRUCache<string, SoundFile, string>({
    maxSize: CACHED_BYTES,
    // lru-cache rejects a size of 0.
    sizeCalculation: ({ blob }) => Math.max(blob.size, 1),
    // A file that is evicted while it is read is still sent.
    ignoreFetchAbort: true,
    fetchMethod: (_version, _stale, { context: path }) => readSoundFile(path),
  });
  return {
    /** Copies a rendered file into the store, on the disk but not served yet. */
    stage: async (soundId: number, rendition: Rendition, from: string) => {
      const staged = stagedPath(soundId, rendition);
      await copyFile(from, staged);
      await syncToDisk(staged);
      const sha256 = await hashFile(staged);
      if (sha256 === undefined) throw new Error('the copy of a rendered file was removed');
      return { sha256, sizeBytes: (await stat(staged)).size };
    },
    /** Moves staged files into place, as far as an interrupted call has not done so. The caller holds the player's lock. */
    publish: async ({ id, steamId64 }: { id: number; steamId64: SteamId64 }): Promise<void> => {
      for (const rendition of RENDITIONS) {
        await move(stagedPath(id, rendition), pathOf({ steamId64, rendition })).catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
      }
      await syncToDisk(published);
    },
    removeStaged: async (soundId: number): Promise<void> => {
      for (const rendition of RENDITIONS) await rm(stagedPath(soundId, rendition), { force: true });
    },
    /** The sounds with staged files. */
    listStaged: async (): Promise<Set<number>> => {
      const ids = (await readdir(published)).map(
        (name) => /^\.([0-9]+)(?:\.voice)?\.partial$/.exec(name)?.[1],
      );
      return new Set(ids.flatMap((id) => (id === undefined ? [] : Number(id))));
    },
    list: async (): Promise<Published[]> => {
      return (await readdir(published)).flatMap((name) => {
        const steamId64 = tryParseSoundFileName(name);
        const rendition = RENDITIONS.find((each) => steamId64 && soundFileName(steamId64, each) === name);
        return steamId64 && rendition ? [{ steamId64, rendition }] : [];
      });
    },
    /** Whether a file is published. @throws when the disk fails: a file that cannot be read now is not lost. */
    has: async (file: Published): Promise<boolean> => (await statIfFound(pathOf(file))) !== undefined,
    /** SHA-256 of a published file as it is on the disk now; undefined when there is none. */
    hash: (file: Published) => hashFile(pathOf(file)),
    /**
     * Reads and hashes each version of a file once while it is cached, and checks every time whether it was replaced.
     * @returns undefined when there is no regular file of this name.
     * @throws {Unavailable} when the disk fails.
     */
    open: async (fileName: string): Promise<SoundFile | undefined> => {
      if (tryParseSoundFileName(fileName) === undefined) return undefined;
      const path = join(published, fileName);
      try {
        const stats = await lstat(path, { bigint: true });
        if (!stats.isFile()) return undefined;
        // A replaced file has another inode, an overwritten one another time or size.
        const version = [path, stats.ino, stats.size, stats.mtimeNs, stats.ctimeNs].join(' ');
        return await cache.fetch(version, { context: path });
      } catch (error) {
        if (hasErrorCode(error, NO_FILE_CODES)) return undefined;
        if (isDiskTrouble(error)) throw new Unavailable('This sound cannot be read now', { cause: error });
        throw error;
      }
    },
    remove: async (steamId64: SteamId64): Promise<void> => {
      for (const rendition of RENDITIONS) await rm(pathOf({ steamId64, rendition }), { force: true });
    },
    /** Keeps a published file as an orphan, which is not served. @returns where it was. */
    setAside: async (file: Published): Promise<string> => {
      await setAside(basename(pathOf(file)));
      return pathOf(file);
    },
    /** @param isMeant called with the name of the file as it was published, and since when it is kept. */
    removeOrphans: async (isMeant: (fileName: string, keptSinceMs: number) => boolean): Promise<void> => {
      for (const name of await readdir(orphans).catch(() => [])) {
        const [, keptSince, fileName = ''] = /^(\d+)-(.*)$/.exec(name) ?? [];
        const isOrphan = keptSince !== undefined && isMeant(fileName, Number(keptSince));
        if (isOrphan) await rm(join(orphans, name), { force: true });
      }
    },
    /** Whether sounds have been published here, as {@link MARK_NAME} says. */
    isMarked: () => Bun.file(join(published, MARK_NAME)).exists(),
    mark: () => writeFile(join(published, MARK_NAME), ''),
    /** For log lines. */
    folder: published,
  };
}

type SoundFile = {
  /** One copy in memory for all downloads. */
  blob: Blob;
  /** SHA-256 of the bytes, in hexadecimal. */
  hash: string;
  /** In whole seconds, as `Last-Modified` shows it. */
  modifiedAt: Date;
};

async function readSoundFile(path: string): Promise<SoundFile | undefined> {
  const file = await readRegularFile(path);
  if (!file) return undefined;
  const hash = new Bun.CryptoHasher('sha256').update(file.bytes).digest('hex');
  return { blob: new Blob([file.bytes]), hash, modifiedAt: file.modifiedAt };
}

/** From one file handle, so that bytes and metadata are of one version even if the file is replaced meanwhile. */
async function readRegularFile(path: string) {
  // Symbolic links are not followed: they could lead out of the folder.
  await using handle = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  const stats = await handle.stat();
  if (!stats.isFile()) return undefined;
  const modifiedAt = new Date(Math.floor(stats.mtimeMs / 1000) * 1000);
  return { bytes: await handle.readFile(), modifiedAt };
}

const HELD_PREFIX = '.backup-';

/** Files as they were when a backup took its snapshot, while the service publishes and removes others. */
function openHeldFiles({ inbox, published }: Folders, root: string) {
  const pathOf = (entry: SoundEntry) =>
    entry.kind === 'sound' ? join(published, entry.fileName) : join(inbox, entry.key, UPLOAD_NAME);
  return {
    /**
     * Holds files by hard links, beside the published ones: on another file system there can be none. A file that cannot be
     * linked, for example because it belongs to another user, is read where it is.
     */
    hold: async (entries: readonly SoundEntry[]) => {
      const folder = join(root, `${HELD_PREFIX}${crypto.randomUUID()}`);
      const linkOf = (entry: SoundEntry) => join(folder, entry.kind === 'sound' ? entry.fileName : entry.key);
      const isMade = await mkdir(folder).then(
        () => true,
        () => false,
      );
      if (isMade) for (const entry of entries) await link(pathOf(entry), linkOf(entry)).catch(() => {});
      return {
        /** @returns undefined when there is no regular file. @throws what the file system reports. */
        read: async (entry: SoundEntry): Promise<Uint8Array | undefined> => {
          // A service that starts meanwhile removes the links.
          for (const path of [linkOf(entry), pathOf(entry)]) {
            const file = await readRegularFile(path).catch((error: unknown) => {
              if (!hasErrorCode(error, NO_FILE_CODES)) throw error;
            });
            if (file) return file.bytes;
          }
          return undefined;
        },
        release: () => rm(folder, { recursive: true, force: true }),
      };
    },
    /** Removes the links of backups that were killed. */
    removeLinks: async (): Promise<void> => {
      for (const name of await readdir(root))
        if (name.startsWith(HELD_PREFIX)) await rm(join(root, name), { recursive: true, force: true });
    },
  };
}

/** Files of a backup, which are staged before they replace all others. */
function openRestoring(
  { inbox, published }: Folders,
  { list, setAside }: Pick<ReturnType<typeof openPublished>, 'list' | 'setAside'>,
) {
  const root = dirname(published);
  const markPath = join(root, RESTORE_MARK);
  // Inside each target folder: files are renamed into place, and the folders may be on different file systems.
  const staging = { sounds: join(published, '.restore'), uploads: join(inbox, '.restore') };
  const listStaged = async (folder: string) => {
    await mkdir(folder, { recursive: true });
    return readdir(folder);
  };

  return {
    /** Whether a restore is under way, or was interrupted. */
    isMarked: () => existsSync(markPath),
    mark: async (): Promise<void> => {
      await writeFile(markPath, '', { flush: true });
      await syncToDisk(root);
    },
    unmark: () => rm(markPath, { force: true }),
    /** Removes what has not been placed, also of a restore that was killed. */
    discard: async (): Promise<void> => {
      for (const folder of Object.values(staging)) await rm(folder, { recursive: true, force: true });
    },
    /** Adds a file that is not served until it is placed. Throws one line that names the setting, such as when the disk is full. */
    stage: async (entry: SoundEntry, content: AsyncIterable<Uint8Array>): Promise<void> => {
      const isSound = entry.kind === 'sound';
      const path = isSound
        ? join(staging.sounds, entry.fileName)
        : join(staging.uploads, entry.key, UPLOAD_NAME);
      try {
        await mkdir(dirname(path), { recursive: true });
        await writeFile(path, content, { mode: isSound ? 0o644 : 0o600, flush: true });
      } catch (error) {
        const place = isSound ? root : dirname(inbox);
        throw toFolderFailure(error, { setting: isSound ? 'STORAGE_DIR' : 'DATA_DIR', root: place }, place);
      }
    },
    /**
     * Replaces the published sounds, which are set aside, and adds the uploads. Can be repeated after it was interrupted.
     * @param files the names of the restored files, as in the backup, with the hashes of sounds: those that are in place
     * already stay. Staged files that are not among them are not placed.
     * @param storageId the restored database contains the id of its former folder.
     */
    place: async (
      files: ReadonlyMap<string, string | null>,
      storageId: string | undefined,
    ): Promise<void> => {
      try {
        for (const file of await list()) {
          const fileName = soundFileName(file.steamId64, file.rendition);
          if ((await hashFile(join(published, fileName))) !== files.get(`sounds/${fileName}`))
            await setAside(file);
        }
        for (const fileName of await listStaged(staging.sounds))
          if (files.has(`sounds/${fileName}`))
            await rename(join(staging.sounds, fileName), join(published, fileName));
        for (const key of await listStaged(staging.uploads)) {
          if (!files.has(`uploads/${key}`)) continue;
          await rm(join(inbox, key), { recursive: true, force: true });
          await rename(join(staging.uploads, key), join(inbox, key));
        }
        if (storageId !== undefined) await writeFile(join(root, STORAGE_ID_FILE), `${storageId}\n`);
        for (const folder of [published, inbox]) await syncToDisk(folder);
      } catch (error) {
        throw toFolderFailure(error, { setting: 'STORAGE_DIR', root });
      }
    },
  };
}

/** The file in `STORAGE_DIR` with the id that distinguishes it from other storage folders. */
const STORAGE_ID_FILE = '.storage-id';

/** Processes that start together in one folder find the same id. */
async function identifyStorage(file: string): Promise<{ file: string; id: string }> {
  const id = crypto.randomUUID();
  const draft = `${file}.${id}`;
  await writeFile(draft, `${id}\n`);
  try {
    await link(draft, file);
  } catch (error) {
    if (!hasErrorCode(error, ['EEXIST'])) throw error;
  } finally {
    await rm(draft, { force: true });
  }
  return { file, id: (await readFile(file, 'utf8')).trim() };
}

async function statIfFound(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: unknown) => {
    if (isNotFound(error)) return undefined;
    throw error;
  });
}
