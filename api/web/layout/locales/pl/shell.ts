import type { Texts } from '../en.ts';

/** The parts around the content of every page. */
export const shell: Texts['shell'] = {
  switchToThis: 'Zmień język na polski',
  skipToContent: 'Przejdź do treści',
  nav: {
    label: 'Menu główne',
    servers: 'Serwery',
    penalties: 'Kary',
    moderation: 'Moderacja',
    docs: 'Dokumentacja API',
    account: 'Konto',
    signIn: 'Zaloguj się',
    signOut: 'Wyloguj się',
  },
  unknownNickname: 'Gracz',
  page: (page, last) => `Strona ${page} z ${last}`,
  previous: 'Poprzednia',
  next: 'Następna',
  cancel: 'Anuluj',
  copy: 'Kopiuj',
  copied: 'Skopiowano',
  footer: 'Nie jesteśmy powiązani z Valve ani z Discordem.',
};

/** The page of a visitor who is not signed in. */
export const signIn: Texts['signIn'] = {
  title: 'Logowanie',
  heading: 'Twoje kary, Twój dźwięk, Twoje konto',
  lead: 'Zaloguj się kontem Steam, na którym grasz. Poznamy tylko Twój SteamID i publiczną nazwę, hasła nigdy.',
  button: 'Zaloguj się przez Steam',
  misleads: (address) =>
    `Pod tym adresem nie można się zalogować, bo Steam odesłałby Cię na ${address}. Jeśli prowadzisz tę stronę, ustaw w PUBLIC_URL adres, pod którym ludzie ją otwierają.`,
  demo: {
    title: 'Rozejrzyj się jako…',
    lead: 'To jest demo: wszystkie osoby są zmyślone, a konto Steam nie jest potrzebne.',
    as: {
      owner: 'Zaloguj się jako właściciel',
      admin: 'Zaloguj się jako admin',
      moderator: 'Zaloguj się jako moderator',
      member: 'Zaloguj się jako zwykły gracz',
    },
  },
  points: {
    penalties: ['Kary', 'Sprawdź, za co, od kogo i do kiedy masz karę.'],
    appeals: ['Kary i odwołania', 'Sprawdź, za co, od kogo i do kiedy masz karę, i odwołaj się od niej.'],
    sound: ['Dźwięk końca rundy', 'Wybierz, co usłyszą wszyscy, gdy zostaniesz MVP rundy.'],
    discord: ['Discord', 'Połącz konto, aby bot wiedział, kim jesteś w grze.'],
    tokens: [
      'Tokeny API',
      'Korzystaj z danych o serwerach, karach i graczach na swojej stronie albo w skrypcie.',
    ],
  },
};
