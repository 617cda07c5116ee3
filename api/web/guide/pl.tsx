import { ErrorTable, type Guide, Samples } from './parts.tsx';
import {
  banList,
  browserRequest,
  conditionalRequest,
  firstRequest,
  requestWithToken,
  streamRequest,
  WEBHOOK_RECEIVERS,
} from './samples.ts';

export const GUIDE_PL: Guide = {
  title: 'API społeczności',
  lead: 'Serwery, kary, gracze i dźwięki końca rundy tej społeczności – dla stron internetowych, serwerów gry i botów. Serwery i dźwięki są publiczne, cała reszta wymaga tokena.',
  contents: 'Spis treści',
  reference: 'Dokumentacja',
  sections: [
    {
      id: 'first-request',
      title: 'Pierwsze zapytanie',
      body: ({ publicUrl }) => (
        <>
          <p>Wklej jeden z przykładów. Każdy wypisuje serwery i liczbę graczy.</p>
          <Samples samples={firstRequest(publicUrl)} />
          <p>
            Każda ścieżka działa też pod <code>/index.php/api/v1</code>, a HEAD wszędzie tam, gdzie GET.
          </p>
        </>
      ),
    },
    {
      id: 'token',
      title: 'Skąd wziąć token',
      body: ({ publicUrl }) => (
        <>
          <p>
            Zaloguj się na <a href="/account#tokens">stronie konta</a> i utwórz token. Zobaczysz go tylko raz:
            zapisz go tam, skąd Twój program czyta hasła (w przykładach jest to zmienna środowiskowa{' '}
            <code>API_TOKEN</code>), i nigdy nie umieszczaj go na stronie, którą otwierają inni.
          </p>
          <Samples samples={requestWithToken(publicUrl)} />
          <p>
            Jeśli nie możesz wysłać nagłówka, podaj token w adresie jako <code>api_token</code>; nagłówek ma
            pierwszeństwo. Zaznacz tylko te zakresy, których program potrzebuje: gdy jakiegoś brakuje,
            odpowiedź ma status 403, a komunikat podaje jego nazwę. Zakresy, termin ważności i limit tokena
            podaje <code>/token</code>.
          </p>
        </>
      ),
    },
    {
      id: 'limits',
      title: 'Limity',
      body: ({ limits }) => (
        <>
          <p>
            Endpointy publiczne: {limits.public} zapytań na minutę z jednego adresu IP. Endpointy wymagające
            tokena: {limits.protected} na minutę dla jednego właściciela, bez względu na liczbę tokenów. Każda
            odpowiedź podaje w nagłówku <code>X-RateLimit-Remaining</code>, ile zapytań jeszcze zostało. Po
            przekroczeniu limitu dostaniesz status 429: odczekaj tyle sekund, ile podaje{' '}
            <code>Retry-After</code>.
          </p>
          <p>
            Endpointy, które przyjmują listę identyfikatorów, obejmują do 100 graczy w jednym zapytaniu. Pytaj
            o wielu naraz, a nie o każdego z osobna.
          </p>
        </>
      ),
    },
    {
      id: 'errors',
      title: 'Błędy',
      body: () => (
        <>
          <p>
            Każdy błąd ma status i treść <code>{'{"success": false, "message": "…"}'}</code>. Komunikat jest
            dla ludzi: program niech rozpoznaje błąd po statusie.
          </p>
          <ErrorTable
            heads={['Status', 'Znaczenie', 'Co zrobić']}
            rows={[
              ['400', 'Parametr jest nieprawidłowy.', 'Popraw go: komunikat mówi, jak.'],
              [
                '401',
                'Brak tokena albo token jest nieważny.',
                <>
                  Utwórz nowy na <a href="/account#tokens">stronie konta</a>.
                </>,
              ],
              ['403', 'Token nie ma potrzebnego zakresu.', 'Utwórz taki, który go ma.'],
              ['404', 'Nie znaleziono.', 'Sprawdź adres i identyfikator.'],
              ['410', 'Kursor jest za stary albo nieznany.', 'Zacznij od nowa od eksportu.'],
              [
                '429',
                'Za dużo zapytań.',
                <>
                  Spróbuj po tylu sekundach, ile podaje <code>Retry-After</code>: 44 to za 44 sekundy.
                </>,
              ],
              ['500, 503', 'Błąd po stronie usługi.', 'Spróbuj ponownie po chwili.'],
            ]}
          />
        </>
      ),
    },
    {
      id: 'ban-list',
      title: 'Lista banów na własnej stronie',
      body: ({ publicUrl }) => (
        <>
          <p>
            Pyta Twój serwer, więc nikt nie zobaczy tokena, a każda odpowiedź jest przechowywana przez 30
            sekund: niezależnie od tego, ile osób otworzy listę, limit nie zostanie przekroczony. Gdy API
            odmówi albo nie odpowie, zostaje ostatnia lista.
          </p>
          <Samples samples={banList(publicUrl)} />
        </>
      ),
    },
    {
      id: 'paging',
      title: 'Filtry i strony',
      body: () => (
        <>
          <p>
            Każda lista kar przyjmuje, obok innych filtrów, <code>created_from</code> i{' '}
            <code>created_to</code> (data to cały dzień w UTC), <code>reason</code> (fragment powodu) oraz{' '}
            <code>sort</code>, na przykład <code>-ends</code>. Literówka w nazwie filtra to błąd, a nie lista
            wszystkiego.
          </p>
          <p>
            Listy kar są podzielone na strony, numerowane od 1 (<code>page</code>); <code>per_page</code> to
            domyślnie 50, najwyżej 100. <code>meta.total</code> i <code>meta.last_page</code> są dokładne, a
            nagłówek <code>Link</code> prowadzi do pierwszej, poprzedniej, następnej i ostatniej strony. Jeśli
            chcesz mieć kopię wszystkich kar, nie przeglądaj stron:{' '}
            <a href="#changes">pobierz eksport, a potem zmiany</a>.
          </p>
        </>
      ),
    },
    {
      id: 'changes',
      title: 'Śledzenie zmian',
      body: ({ publicUrl }) => (
        <>
          <p>
            <code>/penalties/export</code> zwraca wszystkie kary, a w ostatniej linii kursor.{' '}
            <code>/penalties/changes</code> zwraca po kolei to, co zmieniło się od kursora: razem niczego nie
            pomijają i niczego nie powtarzają. Pole <code>lifted</code> podaje, kto zdjął karę. Żeby
            dowiadywać się o zmianach od razu, utrzymuj otwarty strumień:
          </p>
          <Samples samples={[streamRequest(publicUrl)]} />
          <p>
            Po przerwie program wysyła ostatni <code>id</code> w nagłówku <code>Last-Event-ID</code> i czyta
            dalej od tego miejsca, do 30 dni wstecz. Strumień z samymi zdarzeniami serwerów i{' '}
            <code>sound.changed</code>, na przykład <code>?types=server.players</code>, nie wymaga tokena.
          </p>
        </>
      ),
    },
    {
      id: 'webhooks',
      title: 'Odbieranie webhooków',
      body: () => (
        <>
          <p>
            Administratorzy mogą ustawić wysyłanie zdarzeń na Twój adres jako{' '}
            <a href="https://www.standardwebhooks.com/">Standard Webhooks</a>; dostają wtedy sekret,
            pokazywany tylko raz. Na Twój adres może wysłać coś każdy, dlatego każdą wiadomość sprawdzaj tym
            sekretem. Wiadomość może przyjść dwa razy: pomiń <code>webhook-id</code>, który już widziałeś.
            Odpowiedz statusem 2xx w ciągu 10 sekund, a resztę zrób później.
          </p>
          <Samples samples={WEBHOOK_RECEIVERS} />
        </>
      ),
    },
    {
      id: 'browser',
      title: 'W przeglądarce',
      body: ({ publicUrl }) => (
        <>
          <p>
            Strony z dowolnej domeny mogą pytać o dane publiczne, czyli serwery i dźwięki, prosto z
            przeglądarki; każdy odwiedzający ma wtedy własny limit. Nigdy nie umieszczaj tokena na stronie, w
            skrypcie ani w aplikacji, którą otwierają inni: każdy odczyta z nim wszystko, na co token pozwala.
            Zapytania wymagające tokena wysyłaj ze swojego serwera, jak przy{' '}
            <a href="#ban-list">liście banów</a>.
          </p>
          <Samples samples={[browserRequest(publicUrl)]} />
        </>
      ),
    },
    {
      id: 'caching',
      title: 'Pamięć podręczna',
      body: ({ publicUrl }) => (
        <>
          <p>
            Publiczne odpowiedzi i <code>/penalties/{'{id}'}</code> mają <code>ETag</code>. Odeślij go w{' '}
            <code>If-None-Match</code>: dopóki nic się nie zmieniło, dostaniesz status 304 bez treści.
          </p>
          <Samples samples={[conditionalRequest(publicUrl)]} />
          <p>
            Listę serwerów można przechowywać przez dwie sekundy. Odpowiedzi, które wymagają tokena, nigdy nie
            pochodzą z pamięci podręcznej: informacja, czy ban jest aktywny, jest zawsze aktualna.
          </p>
        </>
      ),
    },
    {
      id: 'times',
      title: 'Czas i identyfikatory',
      body: () => (
        <p>
          Daty są w UTC, z dokładnością do sekundy, np. <code>2026-11-21T10:00:00+00:00</code>. SteamID i
          identyfikatory Discorda są tekstem, bo nie mieszczą się w liczbach JavaScriptu. Parametry przyjmują
          SteamID jako SteamID64, <code>STEAM_1:1:19867136</code> albo <code>[U:1:39734273]</code>. Czas
          trwania kary podajemy w minutach; 0 oznacza karę bezterminową, a <code>ends</code> jest wtedy równe
          null.
        </p>
      ),
    },
    {
      id: 'versions',
      title: 'Wersje i zmiany',
      body: ({ version }) => (
        <p>
          To jest wersja {version}. Wszystko pod <code>/api/v1</code> pozostaje bez zmian: pola zachowują
          nazwy, typy i znaczenie. Operacje oznaczone jako rozszerzenia mogą dostać nowe pola i parametry,
          mogą też pojawić się nowe operacje i typy zdarzeń: pomijaj to, czego nie znasz. Wszystko, co mogłoby
          zepsuć działające programy, dostanie nową ścieżkę bazową, np. <code>/api/v2</code>.{' '}
          <a href="/swagger/json">Dokument OpenAPI</a> generuje działający program; można z niego wygenerować
          klienta.
        </p>
      ),
    },
  ],
};
