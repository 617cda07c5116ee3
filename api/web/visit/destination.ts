/** The path and query of one of our pages if the text is exactly that; undefined for everything else. */
export type ReadDestination = (text: string | null) => string | undefined;

const LONGEST = 512;
const ORIGIN = 'http://localhost';

/**
 * A sign-in may end on these pages and nowhere else. A text that a browser could read as another address than its plain
 * path (`//host`, `/\host`, a scheme, `..`, line breaks) is refused.
 * @param paths with `:name` for parameters.
 */
export function createDestinations(paths: readonly string[]): ReadDestination {
  const pages = paths.map((path) => new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}/?$`));
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
