import { type Db, isDatabaseOutage } from '../../../src/db/client.ts';
import type { Session } from '../../../src/queries/users/sessions.ts';
import type { User } from '../../../src/queries/users/users.ts';
import { isQueryTooLong } from '../../http/query.ts';
import { type Locale, pickLocale, tryParseLocale } from '../layout/locales/locale.ts';
import type { Cookies } from './cookies.ts';
import type { ReadDestination } from './destination.ts';
import { CSRF_HEADER, csrfTokenOf, readForm, requireCsrfToken } from './forms/form.ts';
import { openSession } from './session.ts';
import type { Signer } from './signing.ts';

export type VisitDeps = {
  db: Db;
  cookies: Cookies;
  signer: Signer;
  now: () => Date;
  readDestination: ReadDestination;
};

/** One request to a page: who makes it, in which language, and the cookies that its response sets. */
export type Visit = {
  request: Request;
  url: URL;
  now: Date;
  locale: Locale;
  session: Session | undefined;
  /** Whose session it would be, were they not blocked. */
  blockedUser: User | undefined;
  /** What the forms of this session carry; undefined for a visitor who is not signed in. */
  csrfToken: string | undefined;
  /** The database is away, so that nobody knows whose session it is. */
  isUnidentified: boolean;
  /** The page of ours that the visitor wants to see once signed in: the one they asked for, else the one they are on. */
  next: string | undefined;
  /** Whom a visitor of the demo may sign in as without Steam; nobody anywhere else. */
  demoRoles: readonly DemoRole[];
  /** `Set-Cookie` lines of the response. */
  cookies: string[];
};

/** Whom the demo's visitors may sign in as. */
export const DEMO_ROLES = ['owner', 'admin', 'member'] as const;
export type DemoRole = (typeof DEMO_ROLES)[number];

/** A visit of somebody who is signed in. */
export type MemberVisit = Visit & { session: Session; user: User; csrfToken: string };

const LANGUAGE_SECONDS = 365 * 24 * 3600;

/** Reads the language of a request, and `next`. `?lang=` switches the language for good. */
export function openVisit({ cookies, now, readDestination }: VisitDeps, request: Request): Visit {
  const url = new URL(request.url);
  // `pages` refuses such a request: do not parse its query first.
  if (isQueryTooLong(request.url)) url.search = '';
  const chosen = tryParseLocale(url.searchParams.get('lang'));
  const locale =
    chosen ??
    tryParseLocale(cookies.read(request, 'language')) ??
    pickLocale(request.headers.get('accept-language'));
  const lines = chosen ? [cookies.write('language', chosen, LANGUAGE_SECONDS)] : [];
  const next =
    readDestination(url.searchParams.get('next')) ?? readDestination(url.pathname + withoutLanguage(url));
  return {
    request,
    url,
    now: now(),
    locale,
    session: undefined,
    blockedUser: undefined,
    csrfToken: undefined,
    isUnidentified: false,
    demoRoles: [],
    next,
    cookies: lines,
  };
}

/** The query without the choice of a language, which is made already. */
function withoutLanguage({ search, searchParams }: URL): string {
  if (!searchParams.has('lang')) return search;
  const rest = new URLSearchParams(searchParams);
  rest.delete('lang');
  return rest.size === 0 ? '' : `?${rest}`;
}

/** Finds the session of the visitor, and extends it; one of a blocked user has ended. */
export async function identifyVisitor(deps: VisitDeps, visit: Visit): Promise<void> {
  const opened = await openSession(deps, visit.request, visit.now);
  if (opened?.session.user.blockedAt) {
    visit.blockedUser = opened.session.user;
    return;
  }
  visit.session = opened?.session;
  visit.csrfToken = opened && csrfTokenOf(deps.signer, opened.session);
  if (opened?.cookie) visit.cookies.push(opened.cookie);
}

/** The same as {@link identifyVisitor}, for pages that are shown to everybody, while the database is away too. */
export async function identifyIfPossible(deps: VisitDeps, visit: Visit): Promise<void> {
  try {
    await identifyVisitor(deps, visit);
  } catch (error) {
    if (!isDatabaseOutage(error)) throw error;
    visit.isUnidentified = true;
  }
}

/** The visit as one of a signed-in user; undefined when nobody is. */
export function asMember(visit: Visit): MemberVisit | undefined {
  const { session, csrfToken } = visit;
  if (!session || csrfToken === undefined) return undefined;
  return { ...visit, session, user: session.user, csrfToken };
}

/**
 * The fields of a POST whose CSRF token was checked.
 * @throws {PageError} 403 without the token · {InvalidInput} for what is no plain form.
 */
export async function readMemberForm(
  { signer }: Pick<VisitDeps, 'signer'>,
  { session, request }: MemberVisit,
): Promise<Map<string, string>> {
  const fields = await readForm(request);
  requireCsrfToken(signer, session, request, request.headers.get(CSRF_HEADER) ?? fields.get('csrf_token'));
  return fields;
}

/** Whether one of our scripts sent the request: it reads JSON instead of a page. */
export function wantsJson(request: Request): boolean {
  return request.headers.get('accept')?.includes('application/json') ?? false;
}
