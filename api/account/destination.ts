/** A page of ours, from `/` on with its query, if the text is the address of one; undefined for everything else. */
export type ReadDestination = (text: string | null) => string | undefined;

/** What is asked of an `AccountRoute` here. */
type Route = { method: string; path: string; isPage?: boolean };

const LONGEST = 512;
const ORIGIN = 'http://localhost';

/**
 * Where a sign-in may lead people: the pages that these routes show, and nowhere else. A text that a browser would read
 * as anything but the very path that it seems to be (`//host`, `/\host`, a scheme, `..`, line breaks) names none.
 */
export function createDestinations(routes: readonly Route[]): ReadDestination {
  const pages = routes
    .filter(({ method, isPage = true }) => method === 'GET' && isPage)
    .map(({ path }) => new RegExp(`^/account${path.replace(/:\w+/g, '[^/]+')}/?$`));
  return (text) => {
    if (text === null || text.length > LONGEST || !/^\/[\x21-\x7e]*$/.test(text)) return undefined;
    const url = URL.parse(text, ORIGIN);
    if (url?.origin !== ORIGIN || url.pathname + url.search !== text) return undefined;
    return pages.some((page) => page.test(url.pathname)) ? text : undefined;
  };
}

/** The address of a step of the sign-in, which hands on where the visitor wants to go. */
export function withDestination(path: string, next: string | undefined): string {
  return next === undefined ? path : `${path}?${new URLSearchParams({ next })}`;
}
