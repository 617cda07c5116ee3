import type { Texts } from '../en.ts';

/** The outcome of the last action, shown once on the next page. */
export const notices: Texts['notices'] = {
  'sign-in-first': 'Zaloguj się, aby zobaczyć tę stronę.',
  'signed-out': 'Wylogowano.',
  'signed-out-everywhere': 'Wylogowano na wszystkich urządzeniach.',
  'session-ended': 'Sesja została zakończona, a urządzenie wylogowane.',
  'token-revoked': 'Token został unieważniony i już nie działa.',
  'token-already-created': 'Ten formularz został już wysłany, więc drugi token nie powstał.',
  'discord-linked': 'Twoje konto Discord jest połączone.',
  'discord-unlinked': 'Twoje konto Discord nie jest już połączone.',
  'user-blocked': 'Użytkownik został zablokowany. Jego tokeny i sesje już nie działają.',
  'user-unblocked': 'Użytkownik został odblokowany. Jego tokeny znów działają.',
  'discord-hidden': 'Twoje konto Discord jest teraz ukryte przed innymi.',
  'discord-shown': 'Inni znów widzą Twoje konto Discord.',
  'account-deleted':
    'Twoje konto zostało usunięte wraz z tokenami, sesjami, powiązaniem z Discordem i dźwiękiem. Kary pozostają.',
  'note-added': 'Notatka dodana.',
  'note-deleted': 'Notatka usunięta.',
  'flags-saved': 'Flagi zostały zapisane.',
  'sound-uploaded': 'Plik został przesłany i jest przetwarzany.',
  'sound-removed': 'Dźwięk został usunięty.',
  'sound-already-removed': 'Nie ma już dźwięku do usunięcia.',
  'webhook-already-added': 'Ten formularz został już wysłany, więc drugi webhook nie powstał.',
  'webhook-delivered': 'Wysłano. Adres przyjął wiadomość.',
  'webhook-not-delivered': 'Wiadomość nie została dostarczona. Powód widać na liście poniżej.',
  'webhook-enabled': 'Webhook jest znów włączony i wznawia od miejsca, w którym przerwał.',
  'webhook-removed': 'Webhook został usunięty.',
  'webhook-already-removed': 'Ten webhook został już wcześniej usunięty.',
  'sign-in-cancelled': 'Logowanie przez Steam zostało anulowane. Nic się nie zmieniło.',
  'link-cancelled': 'Łączenie z Discordem zostało anulowane. Nic się nie zmieniło.',
};
