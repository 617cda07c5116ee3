import { createHash } from 'node:crypto';
import { copyFile, link, mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasErrorCode } from '../domain/error-causes.ts';
import type { Queries } from './tables.ts';

/** The folders of `media`. */
export type SoundFolders = { inbox: string; published: string; orphans: string };

/** A link to a file that a snapshot names; it can still be read after the file is replaced or removed. */
export type HeldFile = { kind: 'sound' | 'upload'; name: string; path: string };

export type HeldSounds = {
  files: HeldFile[];
  /** Files that the snapshot names, but that are missing or have another content. */
  missing: string[];
  release: () => Promise<void>;
};

type Named = Omit<HeldFile, 'path'> & { from: string; sha256: string | undefined };

const PREFIX = '.backup-';
const LEFT_BEHIND_MS = 86_400_000;

/** Links the files of published and queued sounds that a transaction's snapshot names. */
export async function holdSounds(
  queries: Queries,
  folders: SoundFolders,
  { uploadName }: { uploadName: string },
): Promise<HeldSounds> {
  const id = `${PREFIX}${crypto.randomUUID()}`;
  // Next to these folders, not in them: unknown uploads in the inbox are removed.
  const [storage, data] = [dirname(folders.published), dirname(folders.inbox)];
  const homes = { sound: join(storage, id), upload: join(data, id) };
  const release = async () => {
    for (const home of Object.values(homes)) await rm(home, { recursive: true, force: true });
  };
  await removeLeftBehindLinks(folders);
  for (const home of Object.values(homes)) await mkdir(home, { recursive: true });
  const files: HeldFile[] = [];
  const missing: string[] = [];
  try {
    for (const { from, sha256, kind, name } of await listNamed(queries, folders, uploadName)) {
      const path = join(homes[kind], name);
      if ((await hold(from, path)) && (sha256 === undefined || (await hashOf(path)) === sha256)) {
        files.push({ kind, name, path });
      } else {
        missing.push(name);
      }
    }
  } catch (error) {
    await release();
    throw error;
  }
  return { files, missing, release };
}

/** Removes the links of backups that were killed more than a day ago. */
export async function removeLeftBehindLinks(folders: SoundFolders): Promise<void> {
  for (const folder of [dirname(folders.published), dirname(folders.inbox)]) {
    for (const name of await readdir(folder)) {
      if (!name.startsWith(PREFIX)) continue;
      const path = join(folder, name);
      // A running backup may just have removed it.
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Date.now() }));
      if (Date.now() - mtimeMs > LEFT_BEHIND_MS) await rm(path, { recursive: true, force: true });
    }
  }
}

async function listNamed(queries: Queries, folders: SoundFolders, uploadName: string): Promise<Named[]> {
  const ready = await queries.unsafe(
    `select steamid64::text as id, sha256, to_jsonb(round_sounds) ->> 'voice_sha256' as voice from round_sounds
     where status = 'ready' and sha256 is not null order by id`,
  );
  const waiting = await queries.unsafe(
    `select upload_key as key from round_sounds where status in ('queued', 'measuring', 'rendering') order by id`,
  );
  const sound = (name: string, sha256: string): Named => ({
    kind: 'sound',
    name,
    from: join(folders.published, name),
    sha256,
  });
  return [
    ...ready.flatMap(({ id, sha256, voice }) => [
      sound(`${id}.mp3`, sha256),
      ...(voice === null ? [] : [sound(`${id}.voice.mp3`, voice)]),
    ]),
    ...waiting.map(
      ({ key }): Named => ({
        kind: 'upload',
        name: String(key),
        from: join(folders.inbox, String(key), uploadName),
        sha256: undefined,
      }),
    ),
  ];
}

/** @returns false when there is no such file. */
async function hold(from: string, to: string): Promise<boolean> {
  try {
    await link(from, to).catch((error: unknown) => {
      if (hasErrorCode(error, ['ENOENT'])) throw error;
      // Not every file system has hard links.
      return copyFile(from, to);
    });
    return true;
  } catch (error) {
    if (hasErrorCode(error, ['ENOENT'])) return false;
    throw error;
  }
}

async function hashOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
