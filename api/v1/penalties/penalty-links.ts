import type { DocumentedHeader } from '../../http/route.ts';
import { LIST_PARAMETERS, type PenaltyListQuery } from './penalty-parameters.ts';

export const LINK_HEADER: Record<'Link', DocumentedHeader> = {
  Link: {
    description:
      'The `first`, `prev`, `next` and `last` page, with the same filters and without the token. There is no `prev` on the first page and no `next` on the last; past the end, `prev` is the last page.',
    schema: { type: 'string', pattern: '^<https?://[^>]+>; rel="first"' },
    example:
      '<https://play.example.org/api/v1/bans?per_page=50&page=1>; rel="first", <https://play.example.org/api/v1/bans?per_page=50&page=2>; rel="next", <https://play.example.org/api/v1/bans?per_page=50&page=3>; rel="last"',
  },
};

/**
 * The `Link` header of a page: RFC 8288. Filters are written in canonical form, however they were given.
 * @param address of the list, without a query.
 */
export function formatPageLinks(address: string, query: PenaltyListQuery, lastPage: number): string {
  const { page } = query;
  const pages = {
    first: 1,
    prev: page > 1 ? Math.min(page - 1, lastPage) : undefined,
    next: page < lastPage ? page + 1 : undefined,
    last: lastPage,
  };
  return Object.entries(pages)
    .filter(([, number]) => number !== undefined)
    .map(([rel, number]) => `<${address}?${formatQuery({ ...query, page: number ?? 1 })}>; rel="${rel}"`)
    .join(', ');
}

function formatQuery(query: PenaltyListQuery): URLSearchParams {
  const written = new URLSearchParams();
  for (const [key, { name }] of Object.entries(LIST_PARAMETERS)) {
    const value = query[key as keyof PenaltyListQuery];
    if (value !== undefined) written.set(name, value instanceof Date ? value.toISOString() : String(value));
  }
  return written;
}
