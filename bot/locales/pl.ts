import type { FeedSubject } from '../../src/domain/event.ts';
import type { PenaltyStatus, PenaltyType } from '../../src/domain/penalty.ts';
import { durationInWords } from '../../src/domain/text/duration.ts';
import { type NounForms, pluralForm } from '../../src/domain/text/plural.ts';
import { polishPenaltyStatus, toPolishAccusative } from '../../src/domain/text/polish.ts';
import type { BotPermission, NumberedPenalty, Texts } from './en.ts';

const NOUNS = {
  ban: { one: 'ban', few: 'bany', other: 'banów' },
  mute: { one: 'wyciszenie głosu', few: 'wyciszenia głosu', other: 'wyciszeń głosu' },
  gag: { one: 'blokada czatu', few: 'blokady czatu', other: 'blokad czatu' },
  silence: { one: 'pełne wyciszenie', few: 'pełne wyciszenia', other: 'pełnych wyciszeń' },
  warn: { one: 'ostrzeżenie', few: 'ostrzeżenia', other: 'ostrzeżeń' },
  penalty: { one: 'kara', few: 'kary', other: 'kar' },
  appeal: { one: 'odwołanie', few: 'odwołania', other: 'odwołań' },
  newPenalty: { one: 'nowa kara', few: 'nowe kary', other: 'nowych kar' },
  player: { one: 'gracz', other: 'graczy' },
  vacBan: { one: 'ban VAC', few: 'bany VAC', other: 'banów VAC' },
  gameBan: { one: 'ban w grze', few: 'bany w grach', other: 'banów w grach' },
  /** After "from": `od 1 gracza`, `od 5 graczy`. */
  ofPlayer: { one: 'gracza', other: 'graczy' },
  server: { one: 'serwer', few: 'serwery', other: 'serwerów' },
  /** After "of": `z 1 serwera`, `z 5 serwerów`. */
  ofServer: { one: 'serwera', other: 'serwerów' },
  /** After "after": `po 3 minutach`. */
  afterMinute: { one: 'minucie', other: 'minutach' },
  /** After "on" and "about": `na 1 serwerze`, `o 5 serwerach`. */
  onServer: { one: 'serwerze', other: 'serwerach' },
} as const satisfies Record<string, NounForms>;

const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('pl')} ${pluralForm('pl', amount, NOUNS[noun])}`;
const numbered = ({ type, id }: NumberedPenalty): string => `${NOUNS[type].one} #${id}`;
const listed = new Intl.ListFormat('pl');
const daysAgo = new Intl.RelativeTimeFormat('pl', { numeric: 'auto' });
const penaltyTypes: Record<PenaltyType, string> = {
  ban: 'Ban',
  mute: 'Wyciszenie głosu',
  gag: 'Blokada czatu',
  silence: 'Pełne wyciszenie',
  warn: 'Ostrzeżenie',
};
/** The choices of the filter: in the feminine, to agree with *kara*. */
const statuses: Record<PenaltyStatus, string> = {
  ACTIVE: 'Aktywna',
  EXPIRED: 'Wygasła',
  UNBANNED: 'Zdjęta',
};
const inForce = (type: PenaltyType) => ({
  until: (end: string) => `${penaltyTypes[type]} do ${end}`,
  during: (duration: string) => `${penaltyTypes[type]} na ${toPolishAccusative(duration)}`,
  permanently: `${penaltyTypes[type]} na stałe`,
});
/** After "about": `o karach`. */
const about: Record<FeedSubject, string> = {
  penalties: 'karach',
  servers: 'serwerach',
  appeals: 'odwołaniach',
};
const permissions: Record<BotPermission, string> = {
  viewChannel: 'Wyświetlanie kanału',
  sendMessages: 'Wysyłanie wiadomości',
  sendMessagesInThreads: 'Wysyłanie wiadomości w wątkach',
  embedLinks: 'Umieszczanie linków',
};
/** The permissions needed to post messages with embeds. */
const postingPermissions = `„${permissions.viewChannel}”, „${permissions.sendMessages}” (w wątku „${permissions.sendMessagesInThreads}”) i „${permissions.embedLinks}”`;

/** Every text of the bot in Polish. */
export const pl: Texts = {
  commands: {
    server: {
      name: 'serwer',
      description: 'Stan serwerów gry na żywo',
      options: {
        name: { name: 'nazwa', description: 'Serwer; zostaw puste, aby zobaczyć wszystkie' },
      },
    },
    banCheck: {
      name: 'sprawdź-bany',
      description: 'Twoje kary; moderatorzy mogą sprawdzić każdego',
      options: {
        steamid: {
          name: 'steamid',
          description: 'SteamID, ID konta, adres profilu Steam albo ID lub @nazwa z Discorda',
        },
        user: { name: 'użytkownik', description: 'Użytkownik Discorda z połączonym kontem Steam' },
        player: { name: 'gracz', description: 'Moderatorzy: nick gracza, który był już na serwerach' },
        show: { name: 'pokaż', description: 'Moderatorzy: pokaż odpowiedź wszystkim na kanale' },
      },
    },
    lookup: {
      name: 'wyszukaj',
      description: 'Wyszukaj gracza',
      options: {
        user: { name: 'użytkownik', description: 'Użytkownik Discorda; ma pierwszeństwo przed SteamID' },
        steamid: {
          name: 'steamid',
          description: 'SteamID, ID konta, adres profilu Steam albo ID lub @nazwa z Discorda',
        },
        player: { name: 'gracz', description: 'Nick gracza, który był już na serwerach' },
        show: { name: 'pokaż', description: 'Moderatorzy: pokaż odpowiedź wszystkim na kanale' },
      },
    },
    checkBans: { name: 'Sprawdź bany' },
    feed: {
      name: 'powiadomienia-kanału',
      description: 'Kary, serwery lub odwołania: powiadomienia na kanale, na bieżąco',
      start: {
        name: 'włącz',
        description: 'Włącz powiadomienia na tym kanale',
        options: {
          what: { name: 'co', description: 'O czym powiadamiać ten kanał' },
          types: {
            name: 'rodzaje',
            description: 'Kary: tylko te rodzaje, na przykład ban, mute; * = wszystkie',
          },
          server: { name: 'serwer', description: 'Tylko ten serwer; * = wszystkie' },
          players: {
            name: 'gracze',
            description: 'Serwery: powiadom, gdy na którymś jest tylu graczy; 0 = wyłącz',
          },
          after: {
            name: 'po-minutach',
            description: 'Serwery: po ilu minutach offline powiadomić; domyślnie 3',
          },
          role: {
            name: 'rola',
            description:
              'Rola do oznaczenia przy tylu graczach lub nowych odwołaniach; @everyone = bez oznaczania',
          },
          channel: { name: 'kanał', description: 'Inny kanał niż ten' },
        },
      },
      list: { name: 'lista', description: 'Powiadomienia i stan na żywo na tym serwerze Discorda' },
      stop: {
        name: 'wyłącz',
        description: 'Wyłącz powiadomienia na tym kanale',
        options: {
          what: { name: 'co', description: 'Które powiadomienia' },
          channel: { name: 'kanał', description: 'Inny kanał niż ten' },
        },
      },
      test: {
        name: 'wypróbuj',
        description: 'Wyślij przykład na ten kanał',
        options: {
          what: { name: 'co', description: 'Przykład których powiadomień' },
          channel: { name: 'kanał', description: 'Inny kanał niż ten' },
        },
      },
    },
    notify: {
      name: 'powiadom',
      description: 'Wiadomość prywatna, gdy na serwerze jest dość graczy',
      on: {
        name: 'włącz',
        description: 'Napiszę do Ciebie, gdy na serwerze będzie tylu graczy',
        options: {
          server: { name: 'serwer', description: 'Serwer' },
          players: { name: 'gracze', description: 'Od ilu graczy' },
        },
      },
      list: { name: 'lista', description: 'Serwery, o których dostajesz powiadomienia' },
      off: {
        name: 'wyłącz',
        description: 'Wyłącz te powiadomienia',
        options: { server: { name: 'serwer', description: 'Serwer; puste pole oznacza wszystkie' } },
      },
    },
  },

  server: {
    map: 'Mapa',
    mode: 'Tryb',
    region: 'Region',
    players: 'Gracze',
    ping: 'Ping serwera',
    milliseconds: (amount) => `${amount} ms`,
    address: 'Adres',
    updated: (when) => `Zaktualizowano ${when}`,
    offline: 'Offline',
    offlineSince: (when) => `Offline, ostatnio widziany ${when}`,
    neverSeen: 'Offline, jeszcze nigdy nie był online',
    full: ({ players, maxPlayers, since }) => `Pełny: ${players}/${count(maxPlayers, 'player')} od ${since}`,
    notPolled: 'Jeszcze nie sprawdzono',
    unchecked: 'Brak danych',
    uncheckedSince: (when) => `Brak danych od ${when}`,
    nobody: 'Teraz nikt nie gra.',
    namesUnknown: 'Ten serwer nie udostępnia listy graczy.',
    more: (amount) => `… i jeszcze ${amount.toLocaleString('pl')}`,
    playerCount: (amount) => count(amount, 'player'),
    playersOf: (name) => `Gracze na serwerze ${name}`,
    chartAlt: ({ peak, peakAt, average, gaps }) =>
      `Wykres liczby graczy z ostatnich 24 godzin: najwięcej ${peak} (${peakAt}), średnio ${average}${gaps ? '; z przerwami, gdy serwer był offline (liczą się jako 0)' : ''}.`,
    allServers: 'Serwery',
    totals: ({ online, servers, players, capacity }) =>
      `Online: ${online.toLocaleString('pl')} z ${count(servers, 'ofServer')} · ${players.toLocaleString('pl')}/${count(capacity, 'player')}`,
    presence: (players, servers) => `${count(players, 'player')} na ${count(servers, 'onServer')}`,
    none: 'Nie ma jeszcze żadnych serwerów.',
    choose: 'Wybierz serwer',
    chooseNext: (number) => `Wybierz serwer (${number})`,
    noLongerListed: 'Tego serwera nie ma już na liście.',
    live: 'Aktualizuje się automatycznie',
    updatesForbidden: (channel) =>
      `Stan na żywo, który przypięto na kanale ${channel}, już się nie aktualizuje: nie mogę edytować tej wiadomości. Nadaj mi tam uprawnienia ${postingPermissions}, a potem przypnij go ponownie.`,
  },

  chart: {
    title: 'Gracze, ostatnie 24 godziny',
    capacity: 'sloty',
    offline: 'offline',
    peak: (amount) => `najwięcej ${amount}`,
  },

  record: {
    clean: 'Brak kar. 🎉',
    nothingMatches: 'Żadna kara nie pasuje do tych filtrów.',
    noneActive: 'Brak aktywnych kar',
    inForce: {
      ban: inForce('ban'),
      mute: inForce('mute'),
      gag: inForce('gag'),
      silence: inForce('silence'),
      warn: {
        ...inForce('warn'),
        until: (end) => `Ostrzeżenie ważne do ${end}`,
        permanently: 'Ostrzeżenie bezterminowe',
      },
    },
    total: (summary) => `**W historii:** ${summary}`,
    count: (type, amount) => count(amount, type),
    types: penaltyTypes,
    statuses,
    statusOf: polishPenaltyStatus,
    entry: ({ type, id }) => `${penaltyTypes[type]} #${id}`,
    reason: 'Powód',
    noReason: 'nie podano powodu',
    admin: 'Admin',
    console: 'Konsola',
    formerAdmin: 'Były admin',
    unnamedAdmin: 'Admin bez nicku',
    server: 'Serwer',
    allServers: 'wszystkie serwery',
    noServer: 'bez serwera',
    duration: 'Czas trwania',
    durationInWords: (minutes) => durationInWords('pl', minutes),
    permanent: 'na stałe',
    onlineTime: (duration) => `${duration} gry`,
    issued: 'Nałożono',
    ends: 'Kończy się',
    ended: 'Koniec',
    never: 'nigdy',
    lifted: 'Zdjęto',
    lifters: { console: 'konsolę', formerAdmin: 'byłego admina' },
    liftedBy: (admin) => `przez ${admin}`,
    liftReason: (reason) => `„${reason}”`,
    panel: 'panel kar',
    page: ({ page, lastPage, total }) => `Strona ${page} z ${lastPage} · ${count(total, 'penalty')}`,
    filterType: 'Filtruj według rodzaju',
    filterStatus: 'Filtruj według stanu',
    everyType: 'Wszystkie rodzaje',
    everyStatus: 'Wszystkie stany',
  },

  steamBans: {
    title: 'Bany Steam',
    line: (summary) => `**Steam:** ${summary}`,
    none: 'brak banów',
    unknown: 'chwilowo nieznane',
    vac: (amount) => count(amount, 'vacBan'),
    game: (amount) => count(amount, 'gameBan'),
    community: 'ban w społeczności Steam',
    last: (days) => `ostatni ${daysAgo.format(-days, 'day')}`,
  },

  user: {
    steamId: 'SteamID64',
    otherNotations: 'Inne zapisy',
    accountId: 'ID konta',
    discord: 'Discord',
    notLinked: 'niepołączony',
    flags: 'Flagi',
    noFlags: 'brak',
    owner: 'Właściciel',
    admin: 'Administrator',
    svip: 'SVIP',
    premium: 'Premium',
    banned: 'Ban',
    memberSince: 'W społeczności od',
    discordSince: 'Na Discordzie od',
    unnamed: 'Gracz bez nicku',
    neverSignedIn: 'Ta osoba nigdy się tu nie logowała.',
    choose: 'Wybierz gracza',
  },

  feed: {
    subjects: { penalties: 'Kary', servers: 'Serwery', appeals: 'Odwołania' },
    player: 'Gracz',
    unknownPlayer: 'nieznany gracz',
    summaryTitle: (amount) => count(amount, 'newPenalty'),
    summary: ({ since, counts }) =>
      `${counts}\nPierwsza ${since}. Tyle kar naraz podsumowuję w jednej wiadomości.`,
    lastSeen: (when) => `Ostatnio widziany ${when}`,
    one: {
      down: (name) => `${name} jest offline`,
      up: (name) => `${name} jest znów online`,
      players: (name, players) => `${name}: gra już ${count(players, 'player')}`,
      flapping: (name) => `${name} co chwilę przestaje działać`,
    },
    flapping:
      'Trzeci raz offline w ciągu godziny. Więcej o nim napiszę dopiero, gdy będzie online przez godzinę bez przerwy.',
    several: {
      down: (servers) => `Offline: ${count(servers, 'server')}`,
      up: (servers) => `Znów online: ${count(servers, 'server')}`,
      players: () => 'Te serwery się zapełniają',
    },

    begins: (subject) => `📣 Na tym kanale będą pojawiać się powiadomienia o ${about[subject]}.`,
    started: ({ subject, channel, stop }) =>
      `Gotowe. Na kanale ${channel} będą pojawiać się powiadomienia o ${about[subject]}. Wyłączysz je poleceniem ${stop}.`,
    resumed: ({ subject, channel, since }) =>
      `Gotowe. Powiadomienia o ${about[subject]} na kanale ${channel} zostały wstrzymane ${since}. Ruszają od miejsca, w którym stanęły:`,
    changed: ({ subject, channel }) =>
      `Gotowe. Ustawienia powiadomień o ${about[subject]} na kanale ${channel}:`,
    stopped: ({ subject, channel }) =>
      `Gotowe. Na kanale ${channel} nie będzie już powiadomień o ${about[subject]}.`,
    othersPaused: (amount) =>
      `⏸️ Inne wstrzymane powiadomienia i stany na żywo na tym serwerze Discorda: ${amount}. Spróbuję znowu, gdy uda mi się coś wysłać.`,
    listTitle: 'Powiadomienia i stan na żywo',
    liveMessage: 'Stan na żywo',
    message: 'Wiadomość',
    end: 'Zakończ któreś z nich',
    none: (start) => `Nie ma jeszcze żadnych powiadomień. Włączysz je poleceniem ${start}.`,
    tested: (channel) => `Gotowe. Przykład już jest na kanale ${channel}.`,
    example: '🧪 Przykład:',
    examplePlayer: 'Przykładowy gracz',
    exampleReason: 'Nikt nie dostał bana, to tylko przykład.',
    allTypes: 'wszystkie rodzaje',
    downAfter: (minutes) =>
      minutes === 0 ? 'offline od razu' : `offline po ${count(minutes, 'afterMinute')}`,
    playersAtLeast: (amount) => `od ${count(amount, 'ofPlayer')}`,
    startedBy: (mention) => `włączone przez: ${mention}`,
    lacksHere: (permissions) => `Na tym kanale brakuje mi uprawnień: ${permissions}.`,
    permissions,

    manageGuildRequired: 'Tylko osoby z uprawnieniem „Zarządzanie serwerem” mogą ustawiać powiadomienia.',
    cannotPost: (permissions) => `Nie mogę tu pisać. Nadaj mi na tym kanale uprawnienia: ${permissions}.`,
    mayNotMention: (role) =>
      `Nie możesz oznaczać roli ${role} na tym kanale, więc nie możesz też ustawić jej w powiadomieniach.`,
    cannotMention: (role) =>
      `Nie mogę oznaczyć roli ${role}. Pozwól każdemu ją oznaczać albo nadaj mi na tym kanale uprawnienie „Wzmianka @everyone, @here i wszystkich ról”.`,
    unknownType: ({ text, allowed }) => `Nie ma takiego rodzaju kary: **${text}**. Możesz podać: ${allowed}.`,
    takesOnly: ({ subject, options }) =>
      `Dla powiadomień o ${about[subject]} można podać tylko: ${listed.format(options)}.`,
    appealsAreOff: 'Na tej stronie nie można się odwoływać: jej operator musi najpierw ustawić `APPEALS=1`.',
    roleNeedsPlayers: 'Opcja `rola` wymaga opcji `gracze`: liczby graczy, przy której oznaczyć rolę.',
    noSuchFeed: ({ subject, channel }) => `Na kanale ${channel} nie ma powiadomień o ${about[subject]}.`,

    switchedOff: ({ subject, channel, start }) =>
      `Powiadomienia o ${about[subject]} na kanale ${channel} są wyłączone. Kanał już nie istnieje. Możesz włączyć powiadomienia na innym kanale poleceniem ${start}.`,
    paused: ({ subject, channel, start }) =>
      `Powiadomienia o ${about[subject]} na kanale ${channel} są wstrzymane. Nie mogę już tam pisać. Nadaj mi na kanale uprawnienia ${postingPermissions}, a potem użyj tam ponownie polecenia ${start}: powiadomienia ruszą od miejsca, w którym stanęły.`,
    pausedSince: (when, start) => `⏸️ wstrzymane ${when}, wznowisz je poleceniem ${start}`,
    livePausedSince: (when) => `⏸️ wstrzymane ${when}`,
  },

  notify: {
    promise: ({ server, players }) =>
      `Napiszę do Ciebie, gdy na serwerze ${server} będzie co najmniej ${count(players, 'player')}.`,
    reachedAlready: 'Teraz gra tam już tylu graczy; napiszę, gdy ich ubędzie i znów przybędzie.',
    on: (off) => `Gotowe, pierwsza wiadomość jest już u Ciebie. Wyłączysz to poleceniem ${off}.`,
    off: (servers) => `Gotowe. Nie będę już pisać o ${count(servers, 'onServer')}.`,
    none: (on) => `Nie masz włączonych żadnych powiadomień. Włączysz je poleceniem ${on}.`,
    end: 'Wyłącz powiadomienia o serwerze',
    resumed: 'Twoje powiadomienia były wstrzymane, bo nie mogłem do Ciebie napisać. Teraz znów działają.',
    inboxClosed:
      'Nie mogę do Ciebie napisać. Kliknij ikonę tego serwera Discorda prawym przyciskiem myszy (na telefonie ją przytrzymaj), wybierz „Ustawienia prywatności”, włącz „Wiadomości bezpośrednie” i użyj polecenia ponownie. Jeśli mnie blokujesz, najpierw mnie odblokuj.',
    limited: (when) => `Discord ogranicza teraz moje wiadomości prywatne. Spróbuj ponownie ${when}.`,
    tooMany: (most) =>
      `Możesz dostawać wiadomości najwyżej o ${count(most, 'onServer')}. Najpierw wyłącz któreś.`,
  },

  appeal: {
    title: ({ entry, state }) =>
      `Odwołanie od kary: ${entry.charAt(0).toLowerCase()}${entry.slice(1)} – ${state}`,
    states: {
      undecided: 'nierozpatrzone',
      accepted: 'uwzględnione',
      denied: 'odrzucone',
      closed: 'zamknięte',
    },
    carriedOut: 'uwzględnione, kara zdjęta',
    deleted: 'To odwołanie zostało usunięte.',
    waitsFor: {
      staff: 'Czeka na moderację',
      player: 'Czeka na gracza',
      lift: 'Czeka na zdjęcie kary',
    },
    answered: 'Gracz odpowiedział.',
    waitForLong: ({ staff, lift }) =>
      `Ponad dobę czeka: ${listed.format([
        ...(staff > 0 ? [`${count(staff, 'appeal')} na moderację`] : []),
        ...(lift > 0 ? [`${count(lift, 'appeal')} na zdjęcie kary`] : []),
      ])}.`,
    open: 'Otwórz odwołanie',
    openAll: 'Otwórz odwołania',
    news: {
      asked: (penalty) => `Jest pytanie do Twojego odwołania od kary (${numbered(penalty)}).`,
      accepted: (penalty) =>
        `Twoje odwołanie od kary (${numbered(penalty)}) zostało uwzględnione. Napiszę jeszcze raz, gdy kara zostanie zdjęta.`,
      denied: (penalty) => `Twoje odwołanie od kary (${numbered(penalty)}) zostało odrzucone.`,
      closed: (penalty) =>
        `Twoja kara (${numbered(penalty)}) ${penalty.ending === 'expired' ? 'już się skończyła' : 'została zdjęta'}, więc odwołanie jest zamknięte.`,
      carriedOut: (penalty) => `Twoja kara (${numbered(penalty)}) została zdjęta, bo odwołanie uwzględniono.`,
    },
  },

  personal: {
    begun: ({ what, reason }) => `Masz nową karę. ${what}: ${reason}`,
    lifted: (penalty) => `Twoja kara (${numbered(penalty)}) została zdjęta.`,
    ended: (penalty) => `Twoja kara (${numbered(penalty)}) już się skończyła.`,
  },

  buttons: {
    notifyOff: 'Wyłącz te powiadomienia',
    refresh: 'Odśwież',
    players: 'Gracze',
    connect: 'Dołącz',
    allServers: 'Wszystkie serwery',
    pin: 'Przypnij tu stan na żywo',
    first: 'Pierwsza strona',
    previous: 'Poprzednia',
    next: 'Następna',
    last: 'Ostatnia strona',
    record: 'Kary',
    appeal: 'Odwołaj się',
    site: 'Zobacz na stronie',
    profile: 'Profil Steam',
    channel: 'Otwórz kanał',
    message: 'Otwórz wiadomość',
    account: 'Połącz moje konto',
  },

  refusals: {
    tooManyPlayers: (slots) => `Tylu się nie zmieści: najwyżej ${count(slots, 'player')}.`,
    serverNotFound: (name) => `Nie ma serwera **${name}**. Wybierz któryś z listy.`,
    vanityUnavailable:
      'Nie mogę teraz sprawdzić adresów typu /id/nazwa. Podaj SteamID64 albo adres …/profiles/7656…',
    notLinkedYourself: 'Twoje konto Discord nie jest jeszcze połączone z kontem Steam.',
    linkingIsOff:
      'Na tej stronie nie można połączyć konta: jej operator musi najpierw ustawić `DISCORD_CLIENT_ID` i `DISCORD_CLIENT_SECRET`.',
    notLinkedUser: (mention) => `${mention} nie ma połączonego konta Steam.`,
    playerNotFound: (name) =>
      `Nie znam nikogo o nicku **${name}**. Wybierz gracza z listy albo podaj SteamID, adres profilu lub konto Discord (@nazwa).`,
    severalPlayers: (name) => `Jest kilka osób o nicku **${name}**. O kogo chodzi?`,
    whomToLookUp: 'Podaj użytkownika Discorda, SteamID albo nick gracza.',
    nobodyModerates:
      'Nikt nie jest tu jeszcze moderatorem, bo każdy może dodać tego bota na swój serwer Discorda. Jego operator musi najpierw wyłączyć „Public Bot” w portalu deweloperskim Discorda albo ustawić `DISCORD_GUILD_ID`.',
    moderateMembersRequired: (banCheck) =>
      `Tylko moderatorzy mogą sprawdzać innych. Swoje kary zobaczysz poleceniem ${banCheck} bez opcji.`,
    notYours: 'Te przyciski działają tylko dla osoby, która użyła polecenia. Użyj go u siebie.',
    pinRequiresModerateMembers: 'Tylko moderatorzy mogą przypiąć stan na żywo.',
    cannotPost: `Nie mogę pisać na tym kanale. Nadaj mi tam uprawnienia ${postingPermissions}; w prywatnym wątku najpierw mnie oznacz.`,
    channelLimited: 'Discord ogranicza teraz moje wiadomości na tym kanale. Spróbuj ponownie za kilka minut.',
    pinned: 'Gotowe. Wiadomość powyżej aktualizuje się automatycznie; usuń ją, aby to wyłączyć.',
    outdated: 'Ta wiadomość jest nieaktualna. Wywołaj polecenie jeszcze raz.',
    tooFast: (when) => `Nie tak szybko. Spróbuj ponownie ${when}.`,
    unavailable: (errorId) =>
      `Danych nie da się teraz odczytać. Spróbuj ponownie za minutę. (Błąd \`${errorId}\`)`,
    failed: (errorId) =>
      `Coś poszło nie tak po naszej stronie. Spróbuj ponownie; jeśli się powtórzy, podaj administratorowi ten numer błędu: \`${errorId}\``,
  },
};
