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
    const found = path.exec(pathname);
    if (found) return place.replace('$1', found[1] ?? '');
  }
  return undefined;
}
