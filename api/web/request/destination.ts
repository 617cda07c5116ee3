/** Returns the text if it is exactly the path and query of one of our pages; undefined otherwise. */
export type ReadDestination = (text: string | null) => string | undefined;

const MAX_LENGTH = 512;
const ORIGIN = 'http://localhost';

/**
 * Allows a sign-in to redirect to these pages only. Rejects text that a browser could interpret as anything other than
 * a plain path: `//host`, `/\host`, a scheme, `..`, line breaks.
 * @param paths may contain parameters, `:name`.
 */
export function createDestinations(paths: readonly string[]): ReadDestination {
  const pages = paths.map((path) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}/?$`));
  return (text) => {
    if (text === null || text.length > MAX_LENGTH || !/^\/[\x21-\x7e]*$/.test(text)) return undefined;
    const url = URL.parse(text, ORIGIN);
    if (url?.origin !== ORIGIN || url.pathname + url.search !== text) return undefined;
    return pages.some((page) => page.test(url.pathname)) ? text : undefined;
  };
}

/** Adds the page to open after the sign-in to a path, as the query parameter `next`. */
export function withDestination(path: string, next: string | undefined): string {
  return next === undefined ? path : `${path}?${new URLSearchParams({ next })}`;
}

/** Where the forms of a path are, for the link back from an error page. */
const PLACES: readonly [RegExp, string][] = [
  [/^(\/account\/moderation\/(?:users|webhooks)\/[^/]+)(?:\/|$)/, '$1'],
  [/^(\/account\/moderation\/(?:sounds|webhooks))(?:\/|$)/, '$1'],
  [/^\/account\/(tokens|discord|sessions)(?:\/|$)/, '/account#$1'],
  [/^\/account\/roundsound(?:\/|$)/, '/account#sound'],
  [/^\/account\/delete$/, '/account#data'],
];

/** The page, and the card of the account page, with the form that posts to a path; undefined if there is none. */
export function placeOfForm(pathname: string): string | undefined {
  for (const [path, place] of PLACES) {
    const match = path.exec(pathname);
    if (match) return place.replace('$1', match[1] ?? '');
  }
  return undefined;
}
