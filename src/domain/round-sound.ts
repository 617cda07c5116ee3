import { InvalidInput } from './errors.ts';
import { type SteamId64, tryParseSteamId } from './steam-id.ts';
import { hasVisibleCharacter } from './text/visible-text.ts';

/** The states of an upload in their order; `ready` and `failed` are final. */
export const ROUND_SOUND_STATUSES = ['queued', 'measuring', 'rendering', 'ready', 'failed'] as const;
export type RoundSoundStatus = (typeof ROUND_SOUND_STATUSES)[number];

/** The states that are not final. */
export const UNFINISHED_STATUSES = [
  'queued',
  'measuring',
  'rendering',
] as const satisfies readonly RoundSoundStatus[];

/** How long one step of processing a sound may take. */
export const RENDER_TIMEOUT_SECONDS = 30;

/**
 * Why an upload could not be processed; each transport has its own texts for players.
 * - `not-audio`: no audio format that we accept.
 * - `unreadable`: it looks like audio, but no track can be decoded.
 * - `silent`: nothing can be heard in any of the tracks that are tried.
 * - `start-after-end`: nothing can be heard from where the uploader wanted it to begin.
 * - `too-complex`: decoding it takes more processor time or memory than a sound may.
 * - `timed-out`: a step of it took longer than {@link RENDER_TIMEOUT_SECONDS}, three times.
 * - `unavailable`: the service failed (no ffmpeg, no disk space) and did not recover in time.
 * - `lost`: the uploaded file is missing from the disk.
 */
export type RoundSoundFailure =
  | 'not-audio'
  | 'unreadable'
  | 'silent'
  | 'start-after-end'
  | 'too-complex'
  | 'timed-out'
  | 'unavailable'
  | 'lost';

/** The files of a published sound: stereo for listening, and mono for game servers that play it as voice. */
export const RENDITIONS = ['stereo', 'voice'] as const;
export type Rendition = (typeof RENDITIONS)[number];

/** The file name of a rendition, on disk and in its URL. */
export function soundFileName(steamId64: SteamId64, rendition: Rendition): string {
  return rendition === 'voice' ? `${steamId64}.voice.mp3` : `${steamId64}.mp3`;
}

/** The player whose sound has this file name; `undefined` for any other name. */
export function tryParseSoundFileName(fileName: string): SteamId64 | undefined {
  return tryParseSteamId(/^([0-9]{17})(?:\.voice)?\.mp3$/.exec(fileName)?.[1] ?? '');
}

/** The largest `SOUND_MAX_UPLOAD_MB`. */
export const MAX_UPLOAD_MB = 512;

/** The file name of an upload in its folder; it never comes from the user. */
export const UPLOAD_NAME = 'upload.bin';

/** Whether a text names an upload: the key is a UUID, and becomes the name of a folder. */
export function isUploadKey(text: unknown): text is string {
  return typeof text === 'string' && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text);
}

/** The length of {@link soundVersion}, in characters. */
export const SOUND_VERSION_LENGTH = 16;

/** The query parameter `v` of a link: the beginning of the file's SHA-256, so that it changes with the content. */
export function soundVersion(sha256: string): string {
  return sha256.slice(0, SOUND_VERSION_LENGTH);
}

/** What the start of an excerpt is counted from. A start before the first sound of the file begins at that sound. */
export const START_ORIGINS = ['first_sound', 'file'] as const;

/** Where the excerpt of an upload begins. */
export type SoundStart = { startMs: number; startFrom: (typeof START_ORIGINS)[number] };

/** The latest point of an upload at which its excerpt may begin. */
export const LATEST_START_MS = 600_000;

/**
 * Reads a start in whole milliseconds, at most ten minutes.
 * @throws {InvalidInput}
 */
export function parseStartMs(text: string): number {
  const trimmed = text.trim();
  const startMs = /^[0-9]{1,9}$/.test(trimmed) ? Number(trimmed) : Number.NaN;
  if (startMs <= LATEST_START_MS) return startMs;
  throw new InvalidInput(
    `start_ms=${JSON.stringify(text.slice(0, 40))} isn't valid: use whole milliseconds from 0 to ${LATEST_START_MS}`,
  );
}

const TYPED_START =
  /^(?:([0-9]{1,2}):(?=[0-5]?[0-9](?:[.,][0-9]+)?$))?([0-9]{1,9}(?:[.,][0-9]{1,9})?) ?(s|ms)?$/;

/**
 * The same as people type it: `1:07.5`, `67.5`, `12.5s` or `500ms`, with a point or a comma.
 * @returns milliseconds.
 * @throws {InvalidInput}
 */
export function parseStart(text: string): number {
  const [, minutes = '0', number = '', unit] = TYPED_START.exec(text.trim()) ?? [];
  const count = number === '' ? Number.NaN : Number(number.replace(',', '.'));
  const startMs = Math.round(Number(minutes) * 60_000 + count * (unit === 'ms' ? 1 : 1000));
  if (startMs <= LATEST_START_MS) return startMs;
  throw new InvalidInput(
    `${JSON.stringify(text.slice(0, 40))} is not a start: use minutes and seconds up to 10:00, such as 1:07.5 or 12.5s`,
  );
}

const MAX_TITLE_LENGTH = 128;
const UNTITLED = 'sound';

/** Direction controls, and zero-width characters except the joiners. */
const DECEPTIVE_MARKS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/**
 * The title of a track: the name of its file in NFC, without path parts, control and bidirectional characters,
 * at most 128 characters (code points). Never empty, always well-formed.
 */
export function titleFromFileName(fileName: string): string {
  const base = fileName.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const clean = base
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, ' ')
    .replace(DECEPTIVE_MARKS, '')
    .normalize('NFC')
    .replace(/\s+/gu, ' ')
    .trim();
  const title = Array.from(clean).slice(0, MAX_TITLE_LENGTH).join('').trim();
  return /^\.*$/.test(title) || !hasVisibleCharacter(title) ? UNTITLED : title;
}

/** A file that a backup contains: a published sound by its file name, or a queued upload by its key. */
export type SoundEntry = { kind: 'sound'; fileName: string } | { kind: 'upload'; key: string };
