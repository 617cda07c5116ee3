/** The path and query of one of our pages if the text is exactly that; undefined for everything else. */
export type ReadDestination = (text: string | null) => string | undefined;

/** The part of a `MemberRoute` that is needed here. */
type Route = { method: string; path: string; isPage?: boolean };

const LONGEST = 512;
const ORIGIN = 'http://localhost';

/**
 * A sign-in may end on the pages of these routes and nowhere else. A text that a browser could read as another address
 * than its plain path (`//host`, `/\host`, a scheme, `..`, line breaks) is refused.
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

/** The address of a step of the sign-in, with the visitor's destination as `next`. */
export function withDestination(path: string, next: string | undefined): string {
  return next === undefined ? path : `${path}?${new URLSearchParams({ next })}`;
}
