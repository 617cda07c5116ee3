import type { FeedSubject } from '../../src/domain/discord-feed.ts';
import { type NounForms, pluralForm } from '../../src/domain/text/plural.ts';
import type { BotPermission, FeedTexts, feedCommandEn } from './feed-en.ts';

const NOUNS = {
  newPenalty: { one: 'nowa kara', few: 'nowe kary', other: 'nowych kar' },
  server: { one: 'serwer', few: 'serwery', other: 'serwerów' },
  player: { one: 'gracz', other: 'graczy' },
  /** After "from": `od 1 gracza`, `od 5 graczy`. */
  ofPlayer: { one: 'gracza', other: 'graczy' },
} as const satisfies Record<string, NounForms>;
const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('pl')} ${pluralForm('pl', amount, NOUNS[noun])}`;
/** After "about": `o karach`. */
const about: Record<FeedSubject, string> = { penalties: 'karach', servers: 'serwerach' };

const permissions: Record<BotPermission, string> = {
  viewChannel: 'Wyświetlanie kanału',
  sendMessages: 'Wysyłanie wiadomości',
  sendMessagesInThreads: 'Wysyłanie wiadomości w wątkach',
  embedLinks: 'Umieszczanie linków',
};
/** The permissions needed to post messages with embeds. */
export const postingPermissionsPl = `„${permissions.viewChannel}”, „${permissions.sendMessages}” (w wątku „${permissions.sendMessagesInThreads}”) i „${permissions.embedLinks}”`;

/** `/feed` in Polish. */
export const feedCommandPl: typeof feedCommandEn = {
  name: 'powiadomienia',
  description: 'Powiadomienia o karach albo serwerach na tym kanale, na bieżąco',
  start: {
    name: 'włącz',
    description: 'Włącz powiadomienia na tym kanale',
    options: {
      what: { name: 'co', description: 'O czym powiadamiać ten kanał' },
      types: { name: 'rodzaje', description: 'Kary: tylko te rodzaje, na przykład ban, mute' },
      server: { name: 'serwer', description: 'Tylko ten serwer' },
      players: { name: 'gracze', description: 'Serwery: powiadom, gdy na którymś jest tylu graczy' },
      role: { name: 'rola', description: 'Serwery: rola, którą wtedy oznaczyć' },
    },
  },
  list: { name: 'lista', description: 'Powiadomienia na tym serwerze Discord' },
  stop: {
    name: 'wyłącz',
    description: 'Wyłącz powiadomienia na tym kanale',
    options: { what: { name: 'co', description: 'Które powiadomienia' } },
  },
};

/** What feeds post, and what `/feed` responds, in Polish. */
export const feedPl: FeedTexts = {
  subjects: { penalties: 'Kary', servers: 'Serwery' },
  player: 'Gracz',
  unknownPlayer: 'nieznany gracz',
  summaryTitle: (amount) => count(amount, 'newPenalty'),
  summary: ({ since, counts }) => `${counts}\nPierwsza: ${since}. Tylu kar naraz nie pokazuję pojedynczo.`,
  lastSeen: (when) => `Ostatnio widziany ${when}`,
  down: (name) => `${name} jest offline`,
  downMany: (amount) => `Offline: ${count(amount, 'server')}`,
  up: (name) => `${name} jest znów online`,
  upMany: (amount) => `Znów online: ${count(amount, 'server')}`,
  reached: ({ amount, name }) => `${name}: ${count(amount, 'player')}`,
  reachedMany: 'Te serwery się zapełniają',

  started: ({ subject, stop }) =>
    `Gotowe. Ten kanał dostaje teraz powiadomienia o ${about[subject]}; wyłączysz je poleceniem ${stop}.`,
  changed: (subject) => `Gotowe. Ustawienia powiadomień o ${about[subject]} na tym kanale:`,
  stopped: (subject) => `Gotowe. Ten kanał nie dostaje już powiadomień o ${about[subject]}.`,
  listTitle: 'Powiadomienia',
  none: (start) => `Nie ma jeszcze żadnych powiadomień. Włączysz je poleceniem ${start}.`,
  allTypes: 'wszystkie rodzaje',
  allServers: 'wszystkie serwery',
  playersAtLeast: (amount) => `od ${count(amount, 'ofPlayer')}`,
  more: (amount) => `… i jeszcze ${amount.toLocaleString('pl')}`,
  startedBy: (mention) => `włączone przez: ${mention}`,
  lacksHere: (permissions) => `Na tym kanale brakuje mi uprawnień: ${permissions}.`,
  permissions,

  manageGuildRequired: 'Tylko osoby z uprawnieniem „Zarządzanie serwerem” mogą ustawiać powiadomienia.',
  cannotPost: (permissions) => `Nie mogę tu pisać. Nadaj mi na tym kanale uprawnienia: ${permissions}.`,
  cannotMention: (role) =>
    `Nie mogę oznaczyć roli ${role}. Pozwól każdemu ją oznaczać albo nadaj mi na tym kanale uprawnienie „Wzmianka @everyone, @here i wszystkich ról”.`,
  notEveryone: 'W powiadomieniu można oznaczyć jedną rolę, nigdy wszystkich. Wybierz inną.',
  unknownType: ({ text, allowed }) => `**${text}** to nie rodzaj kary. Dostępne: ${allowed}.`,
  forPenaltiesOnly: 'Opcja `rodzaje` dotyczy kar. Pomiń ją albo wybierz kary.',
  forServersOnly: 'Opcje `gracze` i `rola` dotyczą serwerów. Pomiń je albo wybierz serwery.',
  roleNeedsPlayers: 'Opcja `rola` wymaga opcji `gracze`: liczby graczy, przy której oznaczyć rolę.',
  noSuchFeed: (subject) => `Ten kanał nie dostaje powiadomień o ${about[subject]}.`,

  switchedOff: ({ subject, channel, reason }) =>
    `Powiadomienia o ${about[subject]} na kanale ${channel} są wyłączone. ${reason}`,
  channelGone: (start) =>
    `Kanał już nie istnieje. Możesz włączyć powiadomienia na innym kanale poleceniem ${start}.`,
  permissionLost: (start) =>
    `Nie mogę już tam pisać. Nadaj mi na kanale uprawnienia ${postingPermissionsPl}, a potem włącz powiadomienia poleceniem ${start}.`,
};
