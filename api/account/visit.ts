import type { Db } from '../../src/db/client.ts';
import { Forbidden } from '../../src/errors.ts';
import type { Session } from '../../src/queries/sessions.ts';
import type { User } from '../../src/queries/users.ts';
import type { Cookies } from './cookies.ts';
import type { ReadDestination } from './destination.ts';
import { CSRF_HEADER, csrfTokenOf, readForm, requireCsrfToken } from './form.ts';
import { type Locale, pickLocale, readLocale } from './locale.ts';
import { openSession } from './session.ts';
import type { Signer } from './signing.ts';

export type VisitDeps = {
  db: Db;
  cookies: Cookies;
  signer: Signer;
  now: () => Date;
  readDestination: ReadDestination;
};

/** One request to the account page: who, in which language, and what goes back with the answer. */
export type Visit = {
  request: Request;
  url: URL;
  now: Date;
  locale: Locale;
  session: Session | undefined;
  /** The page of ours that the visitor wants to see once signed in. */
  next: string | undefined;
  /** `Set-Cookie` lines of the answer. */
  cookies: string[];
};

/** A visit of somebody who is signed in. */
export type MemberVisit = Visit & { session: Session; user: User; csrfToken: string };

const LANGUAGE_SECONDS = 365 * 24 * 3600;

/** Reads the language of a request, and `next`. `?lang=` switches the language for good. */
export function openVisit({ cookies, now, readDestination }: VisitDeps, request: Request): Visit {
  const url = new URL(request.url);
  const chosen = readLocale(url.searchParams.get('lang'));
  const locale =
    chosen ??
    readLocale(cookies.read(request, 'language')) ??
    pickLocale(request.headers.get('accept-language'));
  const lines = chosen ? [cookies.write('language', chosen, LANGUAGE_SECONDS)] : [];
  const next = readDestination(url.searchParams.get('next'));
  return { request, url, now: now(), locale, session: undefined, next, cookies: lines };
}

/** Finds out who the visitor is, and lets his session live on. */
export async function identifyVisitor(deps: VisitDeps, visit: Visit): Promise<void> {
  const opened = await openSession(deps, visit.request, visit.now);
  visit.session = opened?.session;
  if (opened?.cookie) visit.cookies.push(opened.cookie);
}

/** The visit as one of a signed-in user; undefined when nobody is. */
export function asMember({ signer }: Pick<VisitDeps, 'signer'>, visit: Visit): MemberVisit | undefined {
  const { session } = visit;
  if (!session) return undefined;
  return { ...visit, session, user: session.user, csrfToken: csrfTokenOf(signer, session) };
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

/** @throws {Forbidden} for everyone but admins and owners. */
export function requireModerator({ user }: MemberVisit): void {
  if (!user.isAdmin && !user.isOwner) throw new Forbidden('this page is for administrators');
}

/** Whether a script of ours asks, which reads JSON, and not a browser that shows what it is sent. */
export function wantsJson(request: Request): boolean {
  return request.headers.get('accept')?.includes('application/json') ?? false;
}
