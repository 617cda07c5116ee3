import { pluralForm } from '../../src/plural.ts';
import type { RoundSoundFailure, RoundSoundStatus } from '../../src/round-sound.ts';
import type { Locale } from './locale.ts';

type SoundLimits = { seconds: number; megabytes: number };

/** The sentences of the sound section. English sets the shape; Polish has to have all of it. */
const en = {
  title: 'Round-end sound',
  lead: ({ seconds, megabytes }: SoundLimits) =>
    `Everyone on the server hears it when you end the round. ${pluralForm('en', seconds, { one: 'The first second is kept, silence around it', other: `The first ${seconds} seconds are kept, silence around them` })} is cut, and the loudness is made the same for all players. MP3, WAV, FLAC, OGG, Opus, M4A, AAC, AIFF, WebM and MP4 up to ${megabytes} MB.`,
  none: 'You have no round-end sound yet. Choose a file to be heard.',
  choose: 'Choose a file',
  replace: 'Replace it with another file',
  upload: 'Upload',
  uploading: 'Uploading…',
  uploadFailed: 'The upload did not get through. Check your connection and try again.',
  tooLarge: (megabytes: number) => `This file is larger than ${megabytes} MB. Choose a smaller one.`,
  playerLabel: (title: string) => `Listen to ${title}`,
  waveformLabel: 'Waveform of the sound',
  facts: { length: 'Length', before: 'Loudness before', after: 'Loudness now', since: 'Playing since' },
  seconds: (seconds: string) => `${seconds} s`,
  loudness: (lufs: string) => `${lufs} LUFS`,
  remove: 'Delete',
  removeTitle: 'Delete your sound?',
  removeLead: (title: string) => `“${title}” will no longer be played, and cannot be brought back.`,
  underWay: (title: string) => `“${title}” is on its way`,
  stillPlaying: 'Until it is ready, your present sound stays.',
  steps: {
    queued: 'Queued',
    measuring: 'Measuring',
    rendering: 'Rendering',
    ready: 'Ready',
  } satisfies Record<Exclude<RoundSoundStatus, 'failed'>, string>,
  refresh: 'See how far it is',
  failed: (title: string) => `“${title}” did not become a sound`,
  keptOld: 'Your present sound stays as it is.',
  failures: {
    'not-audio': 'This is no audio file we can use. Try an MP3, WAV, FLAC, OGG, M4A or MP4.',
    unreadable:
      'The file is damaged, or has no sound in it. Try saving it again from the program you made it with.',
    silent: 'There is nothing to hear in its first 75 seconds: it is silent or far too quiet.',
    'too-complex': 'The file takes too long to process. Save it as a plain MP3 or WAV and try again.',
    unavailable: 'Something is wrong on our side. Please upload it again later.',
    lost: 'We lost the file on our side. Please upload it again.',
  } satisfies Record<RoundSoundFailure, string>,
  moderation: {
    count: (count: number) => `Sounds: ${count}`,
    none: 'Nobody has a sound.',
    newest: 'Newest sounds',
    older: 'Older sounds',
    columns: { player: 'Player', title: 'Title', state: 'State', listen: 'Listen', since: 'Since' },
    failed: 'Failed',
    remove: 'Remove',
    removeNamed: (title: string) => `Remove ${title}`,
    removeTitle: 'Remove this sound?',
    removeLead: (title: string, player: string) =>
      `“${title}” and any other sound of ${player}, published or under way, will be removed.`,
  },
};

export type RoundSoundTexts = typeof en;

const pl: RoundSoundTexts = {
  title: 'Dźwięk końca rundy',
  lead: ({ seconds, megabytes }) =>
    `Usłyszą go wszyscy na serwerze, gdy zakończysz rundę. ${pluralForm('pl', seconds, { one: 'Zostaje pierwsza sekunda', few: `Zostają pierwsze ${seconds} sekundy`, other: `Zostaje pierwszych ${seconds} sekund` })}, cisza wokół jest wycinana, a głośność wyrównywana tak samo dla wszystkich graczy. MP3, WAV, FLAC, OGG, Opus, M4A, AAC, AIFF, WebM i MP4 do ${megabytes} MB.`,
  none: 'Nie masz jeszcze dźwięku końca rundy. Wybierz plik, aby było Cię słychać.',
  choose: 'Wybierz plik',
  replace: 'Zastąp innym plikiem',
  upload: 'Prześlij',
  uploading: 'Przesyłanie…',
  uploadFailed: 'Nie udało się przesłać pliku. Sprawdź połączenie i spróbuj ponownie.',
  tooLarge: (megabytes) => `Ten plik ma ponad ${megabytes} MB. Wybierz mniejszy.`,
  playerLabel: (title) => `Posłuchaj ${title}`,
  waveformLabel: 'Wykres fali dźwięku',
  facts: { length: 'Długość', before: 'Głośność przed', after: 'Głośność teraz', since: 'Grany od' },
  seconds: (seconds) => `${seconds} s`,
  loudness: (lufs) => `${lufs} LUFS`,
  remove: 'Usuń',
  removeTitle: 'Usunąć Twój dźwięk?',
  removeLead: (title) => `„${title}” nie będzie już odtwarzany i nie da się go przywrócić.`,
  underWay: (title) => `„${title}” jest w drodze`,
  stillPlaying: 'Dopóki nie będzie gotowy, zostaje obecny dźwięk.',
  steps: { queued: 'W kolejce', measuring: 'Pomiar', rendering: 'Obróbka', ready: 'Gotowe' },
  refresh: 'Sprawdź postęp',
  failed: (title) => `Z „${title}” nie powstał dźwięk`,
  keptOld: 'Obecny dźwięk zostaje bez zmian.',
  failures: {
    'not-audio': 'To nie jest plik dźwiękowy, którego możemy użyć. Spróbuj MP3, WAV, FLAC, OGG, M4A lub MP4.',
    unreadable:
      'Plik jest uszkodzony albo nie ma w nim dźwięku. Zapisz go jeszcze raz w programie, w którym powstał.',
    silent: 'W pierwszych 75 sekundach nic nie słychać: plik jest cichy albo prawie cichy.',
    'too-complex': 'Obróbka pliku trwa za długo. Zapisz go jako zwykły MP3 lub WAV i spróbuj ponownie.',
    unavailable: 'Coś jest nie tak po naszej stronie. Prześlij plik ponownie później.',
    lost: 'Plik zaginął po naszej stronie. Prześlij go ponownie.',
  },
  moderation: {
    count: (count) => `Dźwięki: ${count}`,
    none: 'Nikt nie ma dźwięku.',
    newest: 'Najnowsze dźwięki',
    older: 'Starsze dźwięki',
    columns: { player: 'Gracz', title: 'Tytuł', state: 'Stan', listen: 'Posłuchaj', since: 'Od' },
    failed: 'Nieudane',
    remove: 'Usuń',
    removeNamed: (title) => `Usuń ${title}`,
    removeTitle: 'Usunąć ten dźwięk?',
    removeLead: (title, player) =>
      `„${title}” i każdy inny dźwięk gracza ${player}, opublikowany albo przetwarzany, zostanie usunięty.`,
  },
};

const TEXTS: Record<Locale, RoundSoundTexts> = { en, pl };

/** The sound section's sentences in a language. */
export function roundSoundTextsOf(locale: Locale): RoundSoundTexts {
  return TEXTS[locale];
}
