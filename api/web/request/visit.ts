import { isDatabaseOutage, type RequestDb } from '../../../src/db/client.ts';
import { type Language, tryParseLanguage } from '../../../src/domain/language.ts';
import type { Session } from '../../../src/queries/users/sessions.ts';
import { requireUnblocked, type User } from '../../../src/queries/users/users.ts';
import { isQueryTooLong } from '../../http/query.ts';
import { pickLanguage } from '../locales/locale.ts';
import type { Cookies } from './cookies.ts';
import { placeOfForm, type ReadDestination } from './destination.ts';
import { csrfTokenOf, readForm } from './forms/form.ts';
import { type Notice, readNotice } from './notice.ts';
import { PageError } from './page-error.ts';
import { type EndedSessions, openSession } from './session.ts';
import type { Signer } from './signing.ts';

export type VisitDeps = {
  db: RequestDb;
  cookies: Cookies;
  signer: Signer;
  endedSessions: EndedSessions;
  now: () => Date;
  readDestination: ReadDestination;
  timeZone: string;
};

/** One request to a page: the visitor, the language, and the cookies to set in the response. */
export type Visit = {
  request: Request;
  /** The fields of a POST, read once, as `readForm` reads them. */
  readFields: () => Promise<Map<string, string>>;
  url: URL;
  now: Date;
  language: Language;
  /** The IANA name of the zone of days, and of times until a script converts them to the visitor's own. */
  timeZone: string;
  session: Session | undefined;
  /** The user of the session if they are blocked; they are then treated as not signed in. */
  blockedUser: User | undefined;
  /** The CSRF token for the forms of this session; undefined for a visitor who is not signed in. */
  csrfToken: string | undefined;
  /** Whether the session could not be looked up because the database is unavailable. */
  isUnidentified: boolean;
  /** The page to open after a sign-in: the one in the query parameter `next`, the current one, or that of the form. */
  next: string | undefined;
  /** Whether the visitor may sign in as one of the demo's people, without Steam. */
  isDemo: boolean;
  /** The result of the last action, which a page of the account or of moderation shows once. */
  notice: Notice | undefined;
  /** Why the form that was posted was refused, on the page that shows it again. */
  problem: string | undefined;
  /** `Set-Cookie` header values of the response. */
  cookies: string[];
};

/** A visit of a signed-in user. */
export type UserVisit = Visit & {
  session: Session;
  user: User;
  csrfToken: string;
  /** The fields of a POST, with which a refused form is shown again. A route that reads the body itself fills it. */
  form: Map<string, string>;
};

const LANGUAGE_SECONDS = 365 * 24 * 3600;

/** Creates the visit of a request, with its language and `next`. `?lang=` also saves the language in a cookie. */
export function openVisit({ cookies, now, readDestination, timeZone }: VisitDeps, request: Request): Visit {
  const url = new URL(request.url);
  // Requests with a too long query are rejected later: do not parse it here.
  if (isQueryTooLong(request.url)) url.search = '';
  // A link or a redirect to a path with two slashes would lead to another host.
  url.pathname = url.pathname.replace(/^\/+/, '/');
  const queryLanguage = tryParseLanguage(url.searchParams.get('lang'));
  const language =
    queryLanguage ??
    tryParseLanguage(cookies.read(request, 'language')) ??
    pickLanguage(request.headers.get('accept-language'));
  const lines = queryLanguage ? [cookies.write('language', queryLanguage, LANGUAGE_SECONDS)] : [];
  const next =
    readDestination(url.searchParams.get('next')) ??
    readDestination(url.pathname + withoutLanguage(url)) ??
    readDestination(placeOfForm(url.pathname)?.split('#')[0] ?? null);
  let fields: Promise<Map<string, string>> | undefined;
  return {
    request,
    readFields: () => {
      fields ??= readForm(request);
      return fields;
    },
    url,
    now: now(),
    language,
    timeZone,
    session: undefined,
    blockedUser: undefined,
    csrfToken: undefined,
    isUnidentified: false,
    isDemo: false,
    next,
    problem: undefined,
    notice: showsNotice(request, url) ? readNotice(cookies, request, language) : undefined,
    cookies: lines,
  };
}

/** Public pages show no notice, since they are cached for everybody; nor does the direct response to a form. */
function showsNotice(request: Request, { pathname }: URL): boolean {
  return isRead(request) && pathname.startsWith('/account');
}

/**
 * The same page without the `lang` that chose the language; undefined unless it did. Visitors are redirected there, so
 * that a tab does not choose its language again with every request, and the page comes from the cache.
 */
export function pathWithoutLanguage({ request, url }: Visit): string | undefined {
  if (!isRead(request) || !tryParseLanguage(url.searchParams.get('lang'))) return undefined;
  return url.pathname + withoutLanguage(url);
}

function withoutLanguage({ search, searchParams }: URL): string {
  if (!searchParams.has('lang')) return search;
  const rest = new URLSearchParams(searchParams);
  rest.delete('lang');
  return rest.size === 0 ? '' : `?${rest}`;
}

/** Finds and extends the session of the visitor; a blocked user is not signed in. */
export async function identifyVisitor(deps: VisitDeps, visit: Visit): Promise<void> {
  const { session, cookie } = (await openSession(deps, visit.request, visit.now)) ?? {};
  const isBlocked = Boolean(session?.user.blockedAt);
  visit.blockedUser = isBlocked ? session?.user : undefined;
  visit.session = isBlocked ? undefined : session;
  visit.csrfToken = visit.session && csrfTokenOf(deps.signer, visit.session);
  if (cookie && !isBlocked) visit.cookies.push(cookie);
}

/** Like {@link identifyVisitor}, for public pages, which are also shown while the database is unavailable. */
export async function identifyIfPossible(deps: VisitDeps, visit: Visit): Promise<void> {
  try {
    await identifyVisitor(deps, visit);
  } catch (error) {
    if (!isDatabaseOutage(error)) throw error;
    visit.isUnidentified = true;
  }
}

/** The visit as that of a signed-in user; undefined when the visitor is not signed in. */
export function asUser(visit: Visit): UserVisit | undefined {
  const { session, csrfToken } = visit;
  if (!session || csrfToken === undefined) return undefined;
  return { ...visit, session, user: session.user, csrfToken, form: new Map() };
}

/**
 * The visit as that of a signed-in user.
 * @throws {Blocked} · {PageError} 401 when the visitor is not signed in.
 */
export function requireUser(visit: Visit): UserVisit {
  requireUnblocked(visit.blockedUser);
  const userVisit = asUser(visit);
  if (!userVisit) throw new PageError('signed-out', 401);
  return userVisit;
}

/** Whether one of our scripts sent the request, and expects JSON: who accepts HTML as well is a browser. */
export function wantsJson(request: Request): boolean {
  const accepted = request.headers.get('accept') ?? '';
  return accepted.includes('application/json') && !accepted.includes('text/html');
}

/** Whether a request reads a page. HEAD is treated as GET, so that both have the same headers. */
export function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD';
}
