import type { JSX } from 'hono/jsx/jsx-runtime';
import { textsOf } from '../locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/** Where a list is shown. */
type ListPlace = {
  /** The path of the page; defaults to that of the visit. */
  path?: string;
  /** The id of the list's card; none at the top of the page. */
  card?: string;
};

/** Far more than any page has filters: thousands in a made-up query would make every link of the page expensive. */
const MAX_PARAMETERS = 32;

/** The address of a list with changed parameters in its query; empty ones are left out. */
export function addressWith(
  { url }: Pick<Visit, 'url'>,
  changes: Record<string, string | number | undefined>,
  { path = url.pathname, card }: ListPlace = {},
): string {
  const parameters = url.searchParams.entries().take(MAX_PARAMETERS);
  const query = new URLSearchParams([...parameters.filter(([, value]) => value !== '')]);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) query.delete(name);
    else query.set(name, String(value));
  }
  return [path, query.size > 0 && `?${query}`, card !== undefined && `#${card}`].filter(Boolean).join('');
}

type PagesNavProps = ListPlace & {
  visit: Visit;
  /** From 1. Past the last page, there is only a link to the last page. */
  page: number;
  lastPage: number;
  /** The query parameter with the number of the page. */
  parameter?: string;
};

/** Links to the pages before and after, and to the first and last one; null for a single page. */
export function PagesNav(props: PagesNavProps): JSX.Element | null {
  const { visit, page, lastPage, parameter = 'page', ...place } = props;
  const t = textsOf(visit.language).shell;
  if (lastPage <= 1) return null;
  const addressOf = (number: number) => addressWith(visit, { [parameter]: number }, place);
  const position = page <= lastPage ? t.page(page, lastPage) : undefined;
  return (
    <nav class="pages" aria-label={position ?? t.previous}>
      {page > 1 && (
        <a class="button button-quiet" rel="prev" href={addressOf(Math.min(page, lastPage + 1) - 1)}>
          {t.previous}
        </a>
      )}
      <ul class="page-numbers">
        {numbersAround(page, lastPage).map((number) => (
          <li>
            {number === undefined ? (
              '…'
            ) : number === page ? (
              <span aria-current="page">{number}</span>
            ) : (
              <a href={addressOf(number)} aria-label={t.page(number, lastPage)}>
                {number}
              </a>
            )}
          </li>
        ))}
      </ul>
      {page < lastPage && (
        <a class="button button-quiet" rel="next" href={addressOf(page + 1)}>
          {t.next}
        </a>
      )}
    </nav>
  );
}

/** The first page, those around the current one, and the last; undefined where some are left out. */
function numbersAround(page: number, lastPage: number): (number | undefined)[] {
  const shown = new Set([1, page - 1, page, page + 1, lastPage]);
  const numbers = [...shown].filter((number) => number >= 1 && number <= lastPage).sort((a, b) => a - b);
  return numbers.flatMap((number, index) => {
    const skipped = number - (numbers[index - 1] ?? 0) - 1;
    // The number of a single page takes no more room than a gap.
    return skipped === 0 ? [number] : [skipped === 1 ? number - 1 : undefined, number];
  });
}
