import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Visit } from '../request/visit.ts';
import { textsOf } from './locales/texts.ts';

type PagesNavProps = {
  visit: Visit;
  /** From 1. Past the last page, there is only a link to the last page. */
  page: number;
  lastPage: number;
  addressOf: (page: number) => string;
};

/** Links to the previous and the next page; null for a single page. */
export function PagesNav({ visit, page, lastPage, addressOf }: PagesNavProps): JSX.Element | null {
  const t = textsOf(visit.locale).shell;
  if (lastPage <= 1) return null;
  const position = page <= lastPage ? t.page(page, lastPage) : undefined;
  return (
    <nav class="pages" aria-label={position ?? t.previous}>
      {page > 1 && (
        <a class="button button-quiet" rel="prev" href={addressOf(Math.min(page, lastPage + 1) - 1)}>
          {t.previous}
        </a>
      )}
      {position !== undefined && <span>{position}</span>}
      {page < lastPage && (
        <a class="button button-quiet" rel="next" href={addressOf(page + 1)}>
          {t.next}
        </a>
      )}
    </nav>
  );
}
