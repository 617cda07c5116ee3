import { hasVisibleCharacter } from './visible-text.ts';

/** The way of an upload; `ready` and `failed` are its ends. */
export const ROUND_SOUND_STATUSES = ['queued', 'measuring', 'rendering', 'ready', 'failed'] as const;
export type RoundSoundStatus = (typeof ROUND_SOUND_STATUSES)[number];

/** Those of an upload that is not at its end. */
export const UNFINISHED_STATUSES = [
  'queued',
  'measuring',
  'rendering',
] as const satisfies readonly RoundSoundStatus[];

/**
 * Why an upload did not become a sound; each transport has the words for its players.
 * - `not-audio`: no audio format that we take.
 * - `unreadable`: it looks like audio, and cannot be decoded.
 * - `silent`: nothing in it can be heard.
 * - `too-complex`: decoding it takes more time or memory than a sound may.
 * - `unavailable`: our side failed (no ffmpeg, no space) and did not recover in time.
 * - `lost`: the file vanished from our disk.
 */
const ROUND_SOUND_FAILURES = [
  'not-audio',
  'unreadable',
  'silent',
  'too-complex',
  'unavailable',
  'lost',
] as const;
export type RoundSoundFailure = (typeof ROUND_SOUND_FAILURES)[number];

const LONGEST_TITLE_CHARACTERS = 128;
const UNTITLED = 'sound';

/** Marks that turn the direction of the text around them, and marks without any width but the joiners. */
const DECEPTIVE_MARKS = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/gu;

/**
 * The title of a track: the name of its file in NFC, without path parts, control and bidirectional characters,
 * at most 128 characters (code points). Never empty, always well-formed.
 */
export function titleOf(fileName: string): string {
  const base = fileName.toWellFormed().split(/[/\\]/).at(-1) ?? '';
  const clean = base
    .normalize('NFC')
    .replace(/[\p{Cc}\u2028\u2029\ufffd]/gu, ' ')
    .replace(DECEPTIVE_MARKS, '')
    .replace(/\s+/gu, ' ')
    .trim();
  const title = Array.from(clean).slice(0, LONGEST_TITLE_CHARACTERS).join('').trim();
  return /^\.*$/.test(title) || !hasVisibleCharacter(title) ? UNTITLED : title;
}
