import type { Texts } from '../en.ts';
import { plural } from '../locale.ts';

/** Webhooks, for administrators. */
export const webhooks: Texts['webhooks'] = {
  title: 'Webhooki',
  lead: 'Każdy z tych adresów dowiaduje się na bieżąco, co dzieje się z karami. Wiadomości są podpisane (Standard Webhooks).',
  none: 'Brak webhooków.',
  columns: { url: 'Adres', types: 'Zdarzenia', state: 'Stan', added: 'Dodano' },
  allTypes: 'wszystkie',
  typeNames: {
    'penalty.created': 'penalty.created: nowa kara',
    'penalty.changed': 'penalty.changed: coś się w niej zmieniło',
    'penalty.lifted': 'penalty.lifted: ktoś ją zdjął',
    'penalty.expired': 'penalty.expired: jej czas minął',
    'penalty.removed': 'penalty.removed: zniknęła ze źródła',
  },
  states: {
    on: 'włączony',
    off: 'wyłączony',
    failing: (tries) =>
      plural('pl', tries, {
        one: 'nieudana próba',
        few: 'nieudane próby',
        many: 'nieudanych prób',
        other: 'nieudanej próby',
      }),
    next: (at) => `następna próba: ${at}`,
    reasons: { failing: 'nieudany przez 24 godziny', gone: 'adres odpowiedział 410 (zniknął)' },
  },
  url: 'Adres',
  urlHint: 'https, w internecie; inne sieci tylko tam, gdzie zezwolił na to operator (WEBHOOK_ALLOW).',
  types: 'Zdarzenia',
  add: 'Dodaj webhook',
  addedTitle: 'Webhook został dodany',
  addedLead:
    'Od teraz ten adres dowiaduje się, co się dzieje. Odbiorca potrzebuje sekretu, aby sprawdzać wiadomości.',
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
  removeLead: (url) => `${url} nie dowie się już o niczym, a lista wysłanych wiadomości zniknie.`,
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
    'name-unresolved': 'nazwa nie ma adresu',
    tls: 'certyfikat odrzucony',
    unreachable: 'brak połączenia',
  },
  resend: 'Wyślij ponownie',
  resendNamed: (messageId) => `Wyślij ponownie ${messageId}`,
};
