import { pluralForm } from '../../../../../src/domain/text/plural.ts';
import type { Texts } from '../en.ts';

/** Error pages: their headings, and a sentence for each failure. */
export const errors: Texts['errors'] = {
  titles: {
    unauthorized: 'Wymagane logowanie',
    forbidden: 'Brak dostępu',
    notFound: 'Nie znaleziono strony',
    tooMany: 'Zbyt wiele prób',
    unavailable: 'Chwilowo niedostępne',
    form: 'Sprawdź formularz',
    failed: 'Coś poszło nie tak',
  },
  home: 'Wróć do konta',
  toForm: 'Wróć do formularza',
  retry: 'Spróbuj ponownie',
  'sign-in-refused':
    'Nie udało się zweryfikować odpowiedzi Steama, więc logowanie przerwano. Dzieje się tak, gdy logowanie trwa ponad dziesięć minut, zaczęło się w innej przeglądarce albo link został użyty dwa razy.',
  'link-refused':
    'Nie udało się zweryfikować odpowiedzi Discorda, więc konto nie zostało połączone. Dzieje się tak, gdy łączenie trwa ponad dziesięć minut, zaczęło się w innej przeglądarce albo link został użyty dwa razy.',
  'discord-linked-elsewhere':
    'To konto Discord jest już połączone z innym graczem. Najpierw odłącz je tam albo poproś administratora.',
  'steam-unavailable': 'Steam chwilowo nie odpowiada. Spróbuj ponownie za kilka minut.',
  'discord-unavailable': 'Discord chwilowo nie odpowiada. Spróbuj ponownie za kilka minut.',
  unavailable: 'Usługa chwilowo nie odpowiada. Spróbuj ponownie za minutę.',
  'signed-out': 'Ta sesja wygasła. Zaloguj się ponownie. Nic się nie zmieniło.',
  blocked: 'Administrator zablokował tu Twoje konto. Nie możesz się zalogować ani niczego przesłać.',
  because: (reason) => `Powód: ${reason}`,
  forbidden: 'Nie masz do tego uprawnień.',
  'form-refused':
    'Formularz jest nieaktualny albo nie został wysłany z tej strony. Nic się nie zmieniło: wróć i spróbuj ponownie.',
  'not-found': 'Ta strona nie istnieje albo jej zawartość została usunięta.',
  'only-forms': 'Pod tym adresem nie ma strony: przyjmuje on tylko formularz.',
  'no-forms': 'Ta strona nie przyjmuje formularzy. Nic się nie zmieniło.',
  'token-name': 'Nadaj tokenowi nazwę o długości od 1 do 64 znaków.',
  'token-scopes': 'Zaznacz przynajmniej jeden zakres.',
  'tokens-for-admins': 'Tokeny API mogą tu tworzyć tylko administratorzy. Token nie powstał.',
  'token-limit': 'Masz już maksymalną liczbę aktywnych tokenów. Najpierw unieważnij któryś.',
  'webhook-discord':
    'Discord nie przyjmuje takich wiadomości. Kary możesz publikować na kanale poleceniem bota /powiadomienia.',
  'webhook-url':
    'Adres musi zaczynać się od https://, być dostępny w internecie i nie zawierać nazwy użytkownika ani hasła. Webhook nie został dodany.',
  'webhook-types': 'Zaznacz przynajmniej jeden rodzaj zdarzeń. Webhook nie został dodany.',
  'webhook-limit': 'Masz już maksymalną liczbę webhooków. Najpierw usuń jeden z nich.',
  'block-reason': (most) => `Powód może mieć najwyżej ${most} znaków. Użytkownik nie został zablokowany.`,
  'note-text': (most) => `Notatka może mieć od 1 do ${most} znaków. Nic nie zapisano.`,
  'address-too-long': 'Ten adres jest za długi.',
  'invalid-input': 'Formularz zawiera nieprawidłowe dane. Wróć i sprawdź go.',
  'sound-missing': 'Najpierw wybierz plik. Nic nie zostało przesłane.',
  'sound-empty': 'Ten plik jest pusty. Wybierz inny.',
  'sound-not-allowed':
    'Nie możesz tu mieć dźwięku końca rundy, więc nic nie zostało przesłane. Kto może, sprawdzisz na stronie konta.',
  'sound-too-slow': 'Przesyłanie trwało zbyt długo. Spróbuj z mniejszym plikiem albo na szybszym łączu.',
  'sound-start':
    'Podaj początek w minutach i sekundach, najwyżej 10:00, na przykład 1:07 albo 1:07,5. Nic nie zostało przesłane.',
  'sound-busy':
    'Poprzedni plik jest jeszcze przesyłany albo zbyt wiele osób przesyła naraz. Spróbuj ponownie za chwilę.',
  'sound-too-large': (megabytes) =>
    `Plik ma ponad ${megabytes} MB. Nic nie zostało przesłane: skróć go albo zapisz w innym formacie.`,
  'too-many-requests': (seconds) =>
    `Zbyt wiele prób w krótkim czasie. Spróbuj ponownie za ${seconds} ${pluralForm('pl', seconds, { one: 'sekundę', few: 'sekundy', other: 'sekund' })}.`,
  internal: 'Coś poszło nie tak po naszej stronie; błąd został zapisany. Spróbuj ponownie później.',
  requestId: (id) => `Numer żądania: ${id}`,
};
