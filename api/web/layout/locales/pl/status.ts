import type { Texts } from '../en.ts';
import { plural } from '../locale.ts';

const players = (count: number) => plural('pl', count, { one: 'gracz', few: 'gracze', other: 'graczy' });

/** The status page. */
export const status: Texts['status'] = {
  title: 'Serwery',
  summary: (online, all, playing) => `Serwery online: ${online} z ${all}, w grze ${players(playing)}`,
  allOnline: 'Wszystkie serwery są online',
  someOffline: (offline) =>
    plural('pl', offline, {
      one: 'serwer jest offline',
      few: 'serwery są offline',
      other: 'serwerów jest offline',
    }),
  someUnchecked: (unchecked) =>
    plural('pl', unchecked, {
      one: 'serwer nie został jeszcze sprawdzony',
      few: 'serwery nie zostały jeszcze sprawdzone',
      other: 'serwerów nie zostało jeszcze sprawdzonych',
    }),
  allOffline: 'Wszystkie serwery są offline',
  numbers: { players: 'Teraz gra', online: 'Serwery online', peak: 'Najwięcej w 24 h' },
  list: 'Wszystkie serwery',
  updated: 'Stan z',
  updatesAutomatically: 'Aktualizuje się automatycznie',
  lostConnection: 'Brak połączenia, próbujemy ponownie. Widzisz ostatni znany stan.',
  none: 'Nie ma jeszcze serwerów',
  noneLead: 'Dodane serwery pojawią się tu w ciągu kilku sekund i każdy zobaczy, kto na nich gra.',
  noneHow: 'Jeśli prowadzisz tę stronę, wpisz na jej maszynie to polecenie:',
  addCommand: 'Polecenie, które dodaje serwer',
  states: { online: 'Online', offline: 'Offline', full: 'Pełny', unknown: 'Jeszcze niesprawdzony' },
  lastSeen: 'ostatnio widziany',
  neverSeen: 'jeszcze nigdy nie był online',
  map: 'Mapa',
  mode: 'Tryb',
  region: 'Region',
  ping: 'Ping stąd',
  pingHint: 'zmierzony przez tę stronę',
  milliseconds: (ms) => `${ms} ms`,
  players: 'Gracze',
  playersOf: (now, most) => (most > 0 ? `Gracze: ${now} z ${most}` : players(now)),
  peakOf: (peak) => `Najwięcej w 24 h: ${peak}`,
  noHistory: 'Brak historii',
  connect: 'Dołącz',
  connectTo: (name) => `Dołącz do ${name}`,
  address: (name) => `adres serwera ${name}`,
  allServers: 'Wszystkie serwery',
};

/** The page of one server. */
export const server: Texts['server'] = {
  playersNow: 'Teraz grają',
  player: 'Gracz',
  score: 'Wynik',
  time: 'Czas gry',
  nobody: 'Nikt teraz nie gra.',
  namesUnknown: 'Ten serwer nie udostępnia listy graczy.',
  moreUnnamed: (count) =>
    `oraz ${plural('pl', count, { one: 'gracz', few: 'gracze', other: 'graczy' })} bez nicku`,
  whileOffline: 'Serwer jest teraz offline.',
  history: 'Liczba graczy',
  ranges: { day: '24 godziny', week: '7 dni', month: '30 dni' },
  chartTitle: (name, range) => `${name}: gracze, ostatnie ${range}`,
  chartSummary: (average, peak, wasOffline) =>
    `Średnio ${average}, najwięcej ${peak}.${wasOffline ? ' Czas offline liczy się jako 0 graczy.' : ''}`,
  chartCapacity: (most) => `Sloty: ${most}.`,
  chartOffline: 'Czerwone pola: serwer był offline. Przerwy: nie był sprawdzany.',
  unavailable: 'Chwilowo niedostępne.',
  notEnough: 'Za mało danych na wykres.',
  ago: {
    day: ['24 h temu', '18 h', '12 h', '6 h', 'teraz'],
    week: ['7 dni temu', '', '', '4 dni', '', '2 dni', '', 'teraz'],
    month: ['30 dni temu', '20 dni', '10 dni', 'teraz'],
  },
  asTable: 'Pokaż jako tabelę',
  columns: { since: 'Od', average: 'Średnio', peak: 'Najwięcej', online: 'Online' },
  uptime: 'Dostępność, 30 dni',
  uptimeLead: 'Jak często serwer odpowiadał – dzień po dniu.',
  uptimeOn: (day, share) => `${day}: ${share}`,
  noChecks: 'brak sprawdzeń',
  thirtyDaysAgo: '30 dni temu',
  today: 'dziś',
  maps: 'Mapy, 30 dni',
  mapsLead: 'Jak długo i ile razy grano na każdej mapie.',
  noMaps: 'Nie ma jeszcze danych o mapach.',
  hours: (amount) => `${amount} h`,
  minutes: (amount) => `${amount} min`,
  times: (count) => plural('pl', count, { one: 'raz', other: 'razy' }),
  otherMaps: (count) => plural('pl', count, { one: 'inna mapa', few: 'inne mapy', other: 'innych map' }),
  banner: 'Baner na forum',
  bannerAlt: (name) => `Stan serwera ${name}`,
  bannerCode: 'BBCode',
};

/** The connect page. */
export const connect: Texts['connect'] = {
  title: (name) => `Dołącz do ${name}`,
  open: 'Otwórz w CS2',
  openHint: 'Uruchamia grę przez Steam, jeśli jest zainstalowany na tym urządzeniu.',
  console: 'Albo użyj konsoli',
  consoleHint: 'Włącz konsolę programisty w ustawieniach gry, naciśnij ~ i wklej tę linię.',
  consoleLabel: 'polecenie konsoli',
  offline: 'Serwer nie odpowiedział podczas ostatnich sprawdzeń. Połączenie może się nie udać.',
  full: 'Serwer jest pełny. Możesz jednak spróbować: ktoś może właśnie wyjść.',
  noAddress: 'Adresu tego serwera nie da się otworzyć w grze.',
  details: 'Gracze i wykresy',
};

/** The page shown in place of a server that is not listed. */
export const missingServer: Texts['missingServer'] = {
  title: 'Nie znaleziono serwera',
  lead: 'Pod tym adresem nie ma serwera albo nie jest już na liście publicznej.',
};
