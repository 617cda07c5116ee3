import type { Texts } from '../en.ts';
import { plural } from '../locale.ts';

/** The profile card. */
export const account: Texts['account'] = {
  title: 'Konto',
  steamId: 'SteamID64',
  accountId: 'ID konta',
  memberSince: 'W społeczności od',
  steamProfile: 'Profil Steam',
  badges: {
    isOwner: 'Właściciel',
    isAdmin: 'Admin',
    isModerator: 'Moderator',
    hasSvip: 'SVIP',
    isServiceplus: 'Premium',
  },
  flagSources: {
    hand: 'nadane ręcznie',
    configuration: 'konfiguracja strony',
    simpleadmin: 'CS2-SimpleAdmin',
    sourcebans: 'SourceBans++',
    iks: 'IKS Admin',
    vipcore: 'VIPCore',
    discord: 'rola na Discordzie',
  },
  until: 'do',
  onThisPage: 'Na tej stronie',
};

/** API tokens. */
export const tokens: Texts['tokens'] = {
  title: 'Tokeny API',
  lead: 'Token pozwala programowi korzystać z chronionej części API w Twoim imieniu. Traktuj go jak hasło.',
  count: (live, most) => `${live} z ${most} w użyciu`,
  none: 'Nie masz jeszcze żadnego tokena. Utwórz pierwszy, aby wysłać zapytanie.',
  noneYet: 'Nie masz żadnego tokena.',
  forAdmins: 'Tokeny API mogą tu tworzyć tylko administratorzy.',
  name: 'Nazwa',
  nameHint: 'Do czego służy, np. „strona ze statystykami”',
  expiry: 'Ważność',
  expiries: { '7': '7 dni', '30': '30 dni', '90': '90 dni', '365': '1 rok', never: 'Bezterminowo' },
  scopes: 'Zakres',
  scopeNames: {
    servers: 'servers: zdarzenia serwerów',
    penalties: 'penalties: listy, eksport i zmiany kar',
    lookup: 'lookup: profile graczy',
    events: 'events: zdarzenia na żywo',
  },
  allScopes: 'Wszystko',
  create: 'Utwórz token',
  full: (most) => `Masz ${most} aktywnych tokenów, czyli maksimum. Unieważnij któryś, aby zrobić miejsce.`,
  columns: {
    name: 'Nazwa',
    token: 'Token',
    scopes: 'Zakres',
    created: 'Utworzony',
    used: 'Ostatnio użyty',
    expires: 'Wygasa',
  },
  endsWith: 'kończy się na',
  neverUsed: 'Nigdy',
  noExpiry: 'Nigdy',
  revoke: 'Unieważnij',
  revokeNamed: (name) => `Unieważnij ${name}`,
  createdTitle: 'Twój nowy token',
  createdLead: (name) => `„${name}” jest gotowy.`,
  shownOnce:
    'Skopiuj go teraz: pokazujemy go tylko raz. Przechowujemy jedynie jego skrót, więc nikt nie może pokazać go ponownie.',
  tryIt: 'Wypróbuj',
  tokenLabel: 'Token API',
  curlLabel: 'Polecenie do terminala',
  done: 'Gotowe, token skopiowany',
  revokeTitle: 'Unieważnić ten token?',
  revokeLead: (name, lastFour) =>
    `Programy używające „${name}” (…${lastFour}) natychmiast stracą dostęp. Tego nie można cofnąć.`,
};

/** The Discord link. */
export const discord: Texts['discord'] = {
  title: 'Discord',
  lead: 'Połącz konto Discord, aby bot i API wiedziały, że to Ty. Odczytujemy tylko Twoje ID, nazwę i awatar.',
  link: 'Połącz Discord',
  notSetUp: 'Łączenie kont nie jest jeszcze dostępne na tej stronie.',
  linkedAs: 'Połączono jako',
  relink: 'Odśwież',
  unlink: 'Odłącz',
  isShown: 'Osoby z tokenem API i moderatorzy na Discordzie widzą, które konto jest Twoje.',
  isHidden: 'Twoje konto widzą tylko administratorzy i moderatorzy na Discordzie – oraz Ty.',
  hide: 'Ukryj powiązanie',
  show: 'Pokaż powiązanie',
  unlinkTitle: 'Odłączyć konto Discord?',
  unlinkLead: (name, canLinkAgain) =>
    `Bot i API nie będą już wiedzieć, że ${name} to Ty. ${
      canLinkAgain
        ? 'Konto możesz połączyć ponownie w każdej chwili.'
        : 'Ponownie połączyć konto może tylko operator tej strony.'
    }`,
};

/** The sessions card. */
export const sessions: Texts['sessions'] = {
  title: 'Sesje',
  count: (open) => plural('pl', open, { one: 'sesja', few: 'sesje', other: 'sesji' }),
  lead: ({ unused, most }) =>
    `Urządzenia z otwartą sesją. Sesja wygasa automatycznie ${unused} dni po ostatniej wizycie, a najpóźniej ${most} dni po zalogowaniu.`,
  columns: { device: 'Urządzenie', seen: 'Ostatnia wizyta', created: 'Zalogowano' },
  device: (browser, system) =>
    browser && system ? `${browser}, ${system}` : (browser ?? system ?? 'Nieznane urządzenie'),
  current: 'Ta sesja',
  end: 'Zakończ',
  endNamed: (device, signedIn) => `Zakończ sesję: ${device}, zalogowano ${signedIn}`,
  signOut: 'Wyloguj się',
  signOutEverywhere: 'Wyloguj się wszędzie',
};

/** The data card. */
export const data: Texts['data'] = {
  title: 'Twoje dane',
  lead: 'Pobierz wszystko, co o Tobie przechowujemy, albo usuń konto.',
  download: 'Pobierz moje dane',
  remove: 'Usuń moje konto',
  removeTitle: 'Usunąć konto?',
  removeLead:
    'Twoje tokeny, sesje, powiązanie z Discordem i dźwięk zostaną natychmiast usunięte. Kary pozostaną. Tego nie można cofnąć.',
};
