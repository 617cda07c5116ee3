import type { Texts } from '../en.ts';
import { plural } from '../locale.ts';

/** Webhooks, for administrators. */
export const webhooks: Texts['webhooks'] = {
  title: 'Webhooki',
  lead: 'Na te adresy wysyłamy na bieżąco powiadomienia o karach. Wiadomości są podpisane (Standard Webhooks).',
  none: 'Brak webhooków.',
  columns: { url: 'Adres', types: 'Zdarzenia', state: 'Stan', added: 'Dodano' },
  allTypes: 'wszystkie',
  typeNames: {
    'penalty.created': 'penalty.created: nowa kara',
    'penalty.changed': 'penalty.changed: zmieniły się jej szczegóły',
    'penalty.lifted': 'penalty.lifted: ktoś ją zdjął',
    'penalty.expired': 'penalty.expired: jej czas minął',
    'penalty.removed': 'penalty.removed: usunięta u źródła',
  },
  states: {
    on: 'włączony',
    off: 'wyłączony',
    failing: (attempts) =>
      plural('pl', attempts, {
        one: 'nieudana próba',
        few: 'nieudane próby',
        many: 'nieudanych prób',
        other: 'nieudanej próby',
      }),
    next: (at) => `następna próba: ${at}`,
    reasons: { failing: 'nieudane próby przez 24 godziny', gone: 'adres odpowiedział kodem 410 (usunięty)' },
  },
  url: 'Adres',
  urlHint: 'Adres https w internecie. Na inne sieci musi zezwolić operator (WEBHOOK_ALLOW).',
  types: 'Zdarzenia',
  add: 'Dodaj webhook',
  addedTitle: 'Webhook został dodany',
  addedLead:
    'Od teraz ten adres będzie dostawać powiadomienia. Odbiorca potrzebuje sekretu, aby je weryfikować.',
  shownOnce: 'Skopiuj sekret teraz. Nie zostanie pokazany ponownie.',
  secret: 'Sekret webhooka',
  done: 'Gotowe',
  back: 'Wszystkie webhooki',
  titleOf: (id) => `Webhook ${id}`,
  test: 'Wyślij test',
  retry: 'Spróbuj ponownie teraz',
  enable: 'Włącz',
  remove: 'Usuń',
  removeTitle: 'Usunąć ten webhook?',
  removeLead: (url) => `${url} nie dostanie już żadnych powiadomień, a lista wysłanych wiadomości zniknie.`,
  deliveries: 'Wysłane wiadomości',
  kept: (count) => `Ostatnie próby (najwyżej ${count}), od najnowszej.`,
  noDeliveries: 'Nic jeszcze nie wysłano.',
  deliveryColumns: {
    type: 'Zdarzenie',
    result: 'Wynik',
    at: 'Kiedy',
    duration: 'Czas trwania',
    messageId: 'webhook-id',
  },
  failures: {
    timeout: 'brak odpowiedzi w 10 s',
    'address-refused': 'adres niedozwolony',
    'name-unresolved': 'nie znaleziono hosta',
    tls: 'niezaufany certyfikat',
    unreachable: 'brak połączenia',
  },
  resend: 'Wyślij ponownie',
  resendNamed: (messageId) => `Wyślij ponownie ${messageId}`,
};
