import type { SoundGroup } from '../../../../../src/domain/rights/sound-audience.ts';
import {
  RENDER_TIMEOUT_SECONDS,
  type RoundSoundFailure,
  type RoundSoundStatus,
} from '../../../../../src/domain/round-sound.ts';
import { pluralForm } from '../../../../../src/domain/text/plural.ts';

type SoundLimits = { seconds: number; megabytes: number };

/** The round-end sound: its card, and the list of all sounds for moderation. */
export const roundSound = {
  title: 'Round-end sound',
  lead: ({ seconds, megabytes }: SoundLimits) =>
    `Everyone on the server hears it when you are the MVP of a round. We keep up to ${pluralForm('en', seconds, { one: 'a second', other: `${seconds} seconds` })} from the start you choose, trim the silence around it and make all players’ sounds equally loud. MP3, WAV, FLAC, OGG, Opus, M4A, AAC, AIFF, WebM or MP4, up to ${megabytes} MB.`,
  none: 'You don’t have a round-end sound yet. Choose a file for everyone to hear.',
  choose: 'Choose a file',
  replace: 'Choose another file',
  noFile: 'No file chosen',
  reading: 'Reading the file …',
  start: 'Start at (minutes:seconds)',
  startHint: 'Counted from the start of the file, for example 1:07 or 1:07.5.',
  startMarker: 'Start of the cut',
  play: 'Play from here',
  stop: 'Stop',
  upload: 'Upload',
  uploading: 'Uploading…',
  uploadFailed: 'The upload failed. Check your connection and try again.',
  refusedByProxy:
    'A web server in front of this site refuses files of this size, though the site itself would take it. Please tell its operator.',
  tooLarge: (megabytes: number) => `This file is larger than ${megabytes} MB. Choose a smaller one.`,
  onlyFor: (groups: string) => `Only ${groups} can have a round-end sound here.`,
  groups: {
    svip: 'SVIP',
    serviceplus: 'Premium',
    admin: 'administrators',
  } satisfies Record<SoundGroup, string>,
  keptUnheard: 'Your sound is kept, but it is not played until you can have one again.',
  playerLabel: (title: string) => `Play ${title}`,
  waveformLabel: 'Waveform of the sound',
  facts: {
    length: 'Length',
    before: 'Original loudness',
    after: 'Loudness after levelling',
    since: 'In use since',
  },
  seconds: (seconds: string) => `${seconds} s`,
  loudness: (lufs: string) => `${lufs} LUFS`,
  loudnessWords: {
    muchTooQuiet: 'far too quiet',
    tooQuiet: 'too quiet',
    right: 'about right',
    tooLoud: 'too loud',
    muchTooLoud: 'far too loud',
    even: 'same as everyone’s',
  },
  remove: 'Delete',
  removeTitle: 'Delete your sound?',
  removeLead: (title: string) => `“${title}” will no longer be played and cannot be restored.`,
  underWay: (title: string) => `“${title}” is being processed`,
  stillPlaying: 'Your current sound stays in use until it is ready.',
  steps: {
    queued: 'Queued',
    measuring: 'Measuring',
    rendering: 'Processing',
    ready: 'Ready',
  } satisfies Record<Exclude<RoundSoundStatus, 'failed'>, string>,
  refresh: 'Check progress',
  failed: (title: string) => `“${title}” could not be processed`,
  dismiss: 'Dismiss',
  keptOld: 'Your current sound stays in use.',
  failures: {
    'not-audio': 'This is not an audio file we can use. Try MP3, WAV, FLAC, OGG, M4A or MP4.',
    unreadable:
      'The file is damaged or has no sound in it. Try exporting it again from the program it was made with.',
    silent: 'Nothing can be heard in the first 75 seconds: the file is silent or far too quiet.',
    'start-after-end': 'Nothing can be heard after the start you chose. Choose an earlier one.',
    'too-complex': 'This file takes too much time or memory to process. Try a shorter one.',
    'timed-out': `Processing took longer than ${RENDER_TIMEOUT_SECONDS} seconds, three times. The site is busy: please try again later.`,
    unavailable: 'Something went wrong on our side. Please upload it again later.',
    lost: 'We lost the file. Please upload it again.',
  } satisfies Record<RoundSoundFailure, string>,
  moderation: {
    count: (count: number) => `Sounds: ${count}`,
    none: 'Nobody has a sound yet.',
    noneOlder: 'No older sounds.',
    noneOfPlayer: 'No sound.',
    newest: 'Newest sounds',
    older: 'Older sounds',
    columns: { player: 'Player', title: 'Title', state: 'State', listen: 'Listen', since: 'Since' },
    failed: 'Failed',
    kept: 'Kept, not played',
    remove: 'Remove',
    removeNamed: (title: string) => `Remove ${title}`,
    removeTitle: 'Remove this sound?',
    removeLead: (title: string, player: string) =>
      `“${title}” and any other sound of ${player}, published or being processed, will be removed.`,
  },
};
