import { RENDER_TIMEOUT_SECONDS } from '../../../../../src/domain/round-sound.ts';
import { pluralForm } from '../../../../../src/domain/text/plural.ts';
import type { Texts } from '../en.ts';

/** The round-end sound: its card, and the list of all sounds for moderation. */
export const roundSound: Texts['roundSound'] = {
  title: 'Dźwięk końca rundy',
  lead: ({ seconds, megabytes }) =>
    `Usłyszą go wszyscy na serwerze, gdy zostaniesz MVP rundy. Bierzemy najwyżej ${pluralForm('pl', seconds, { one: 'sekundę', few: `${seconds} sekundy`, other: `${seconds} sekund` })} od wybranego miejsca, przycinamy ciszę na obu końcach i wyrównujemy głośność u wszystkich graczy. MP3, WAV, FLAC, OGG, Opus, M4A, AAC, AIFF, WebM lub MP4, do ${megabytes} MB.`,
  none: 'Nie masz jeszcze dźwięku końca rundy. Wybierz plik, który wszyscy usłyszą.',
  choose: 'Wybierz plik',
  replace: 'Wybierz inny plik',
  noFile: 'Nie wybrano pliku',
  reading: 'Wczytywanie pliku…',
  start: 'Od którego momentu? (min:s)',
  startHint: 'Licząc od początku pliku, na przykład 1:07 albo 1:07,5.',
  startMarker: 'Początek fragmentu',
  play: 'Odtwórz stąd',
  stop: 'Zatrzymaj',
  upload: 'Prześlij',
  uploading: 'Przesyłanie…',
  uploadFailed: 'Nie udało się przesłać pliku. Sprawdź połączenie i spróbuj ponownie.',
  refusedByProxy:
    'Serwer WWW, za którym działa ta strona, nie przepuszcza plików tej wielkości, choć sama strona by go przyjęła. Daj znać jej operatorowi.',
  tooLarge: (megabytes) => `Ten plik ma ponad ${megabytes} MB. Wybierz mniejszy.`,
  onlyFor: (groups) => `Dźwięk końca rundy mogą tu mieć tylko: ${groups}.`,
  groups: { svip: 'SVIP', serviceplus: 'Premium', admin: 'administratorzy' },
  keptUnheard:
    'Twój dźwięk jest zachowany, ale nie będzie odtwarzany, dopóki znów nie będziesz mieć do niego prawa.',
  playerLabel: (title) => `Odtwórz: ${title}`,
  waveformLabel: 'Wykres fali dźwięku',
  facts: {
    length: 'Długość',
    before: 'Głośność oryginału',
    after: 'Głośność po wyrównaniu',
    since: 'W użyciu od',
  },
  seconds: (seconds) => `${seconds} s`,
  loudness: (lufs) => `${lufs} LUFS`,
  loudnessWords: {
    muchTooQuiet: 'o wiele za cicho',
    tooQuiet: 'za cicho',
    right: 'w sam raz',
    tooLoud: 'za głośno',
    muchTooLoud: 'o wiele za głośno',
    even: 'taka jak u wszystkich',
  },
  remove: 'Usuń',
  removeTitle: 'Usunąć Twój dźwięk?',
  removeLead: (title) => `„${title}” nie będzie już odtwarzany i nie da się go przywrócić.`,
  underWay: (title) => `„${title}” jest przetwarzany`,
  stillPlaying: 'Do tego czasu odtwarzany jest obecny dźwięk.',
  steps: { queued: 'W kolejce', measuring: 'Pomiar', rendering: 'Przetwarzanie', ready: 'Gotowy' },
  refresh: 'Sprawdź postęp',
  failed: (title) => `Nie udało się przetworzyć „${title}”`,
  dismiss: 'Ukryj',
  keptOld: 'Obecny dźwięk zostaje bez zmian.',
  failures: {
    'not-audio': 'To nie jest plik dźwiękowy, którego możemy użyć. Spróbuj MP3, WAV, FLAC, OGG, M4A lub MP4.',
    unreadable:
      'Plik jest uszkodzony albo nie zawiera dźwięku. Wyeksportuj go jeszcze raz z programu, w którym powstał.',
    silent: 'W pierwszych 75 sekundach nic nie słychać: jest tam cisza albo dźwięk jest o wiele za cichy.',
    'start-after-end': 'Po wybranym momencie nic nie słychać. Wybierz wcześniejszy początek.',
    'too-complex':
      'Przetworzenie tego pliku trwa zbyt długo lub wymaga zbyt wiele pamięci. Spróbuj z krótszym plikiem.',
    'timed-out': `Przetwarzanie trzy razy trwało dłużej niż ${RENDER_TIMEOUT_SECONDS} sekund. Strona jest teraz zajęta. Spróbuj przesłać plik później.`,
    unavailable: 'Coś poszło nie tak po naszej stronie. Spróbuj przesłać plik później.',
    lost: 'Zgubiliśmy ten plik. Prześlij go ponownie.',
  },
  moderation: {
    count: (count) => `Dźwięki: ${count}`,
    none: 'Nikt nie ma jeszcze dźwięku.',
    noneOlder: 'Nie ma starszych dźwięków.',
    noneOfPlayer: 'Brak dźwięku.',
    newest: 'Najnowsze dźwięki',
    older: 'Starsze dźwięki',
    columns: { player: 'Gracz', title: 'Tytuł', state: 'Stan', listen: 'Posłuchaj', since: 'Od' },
    failed: 'Nieudany',
    kept: 'Zachowany, ale nieodtwarzany',
    remove: 'Usuń',
    removeNamed: (title) => `Usuń ${title}`,
    removeTitle: 'Usunąć ten dźwięk?',
    removeLead: (title, player) =>
      `„${title}” i każdy inny dźwięk gracza ${player}, opublikowany albo przetwarzany, zostaną usunięte.`,
  },
};
