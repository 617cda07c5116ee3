import { randomBytes } from 'node:crypto';
import Bowser from 'bowser';
import { LRUCache } from 'lru-cache';
import { isDatabaseOutage, type RequestDb } from '../../../src/db/client.ts';
import {
  createSession,
  deleteSession,
  extendSession,
  findSession,
  lastEndOf,
  type Session,
} from '../../../src/queries/users/sessions.ts';
import type { User } from '../../../src/queries/users/users.ts';
import type { Cookies } from './cookies.ts';
import { hashOf, type Signer } from './signing.ts';

export type SessionDeps = { db: RequestDb; cookies: Cookies; signer: Signer };
/** Hashes of ended sessions, which never become valid again. */
export type EndedSessions = LRUCache<string, true>;

/** A minute, in case a clock was wrong when the session seemed to have ended. */
const ENDED_CACHED_MS = 60_000;
const MAX_ENDED = 10_000;

/** Remembers ended sessions, so that their cookies cost no query for each request that a limit refuses. */
export function createEndedSessions(): EndedSessions {
  return new LRUCache({ max: MAX_ENDED, ttl: ENDED_CACHED_MS });
}

/** Sessions expire this long after the last visit, and at {@link lastEndOf} at the latest. */
export const SESSION_SECONDS = 30 * 24 * 3600;
/** The minimum time between extensions of a session, so that most visits only read from the database. */
const EXTEND_AFTER_MS = 3_600_000;

/**
 * Signs a user in with a new session id, which prevents session fixation, and ends the session of this request, if any.
 * @returns the Set-Cookie header value.
 */
export async function startSession(
  { db, cookies, signer }: SessionDeps,
  user: User,
  { request, now }: { request: Request; now: Date },
): Promise<string> {
  await endSession({ db, cookies, signer }, request);
  const id = randomBytes(32).toString('base64url');
  await createSession(db, {
    idHash: hashOf(id),
    userId: user.id,
    expiresAt: endOf(now),
    now,
    ...readDevice(request),
  });
  return writeSessionCookie({ cookies, signer }, id);
}

/**
 * Finds the session of a request, and extends it when due.
 * @returns the session and, if it was extended, the Set-Cookie header value that extends the cookie.
 */
export async function openSession(
  { db, cookies, signer, endedSessions }: SessionDeps & { endedSessions: EndedSessions },
  request: Request,
  now: Date,
): Promise<{ session: Session; cookie?: string } | undefined> {
  const id = readSessionId({ cookies, signer }, request);
  if (id === undefined) return undefined;
  const idHash = hashOf(id);
  if (endedSessions.has(idHash)) return undefined;
  const session = await findSession(db, idHash, now);
  if (!session) {
    endedSessions.set(idHash, true);
    return undefined;
  }
  if (now.getTime() - session.seenAt.getTime() < EXTEND_AFTER_MS) return { session };
  const expiresAt = new Date(Math.min(endOf(now).getTime(), lastEndOf(session).getTime()));
  try {
    await extendSession(db, session.idHash, { expiresAt, now });
  } catch (error) {
    // Pages are shown even while the database rejects writes.
    if (!isDatabaseOutage(error)) throw error;
    return { session };
  }
  const seconds = Math.floor((expiresAt.getTime() - now.getTime()) / 1000);
  return { session, cookie: writeSessionCookie({ cookies, signer }, id, seconds) };
}

/** Whether a request has a session that has to be looked up. */
export function mayHaveSession(
  deps: Omit<SessionDeps, 'db'> & { endedSessions: EndedSessions },
  request: Request,
): boolean {
  const id = readSessionId(deps, request);
  return id !== undefined && !deps.endedSessions.has(hashOf(id));
}

/** Ends the session of this request, if any. @returns the Set-Cookie header value that deletes the cookie. */
export async function endSession({ db, cookies, signer }: SessionDeps, request: Request): Promise<string> {
  const id = readSessionId({ cookies, signer }, request);
  if (id !== undefined) await deleteSession(db, hashOf(id));
  return cookies.write('session', '', 0);
}

/** The session id of the cookie if its signature is valid; unsigned ids cause no database query. */
function readSessionId({ cookies, signer }: Omit<SessionDeps, 'db'>, request: Request): string | undefined {
  const [id = '', signature = '', ...rest] = (cookies.read(request, 'session') ?? '').split('.');
  return rest.length === 0 && signer.isSigned('session', id, signature) ? id : undefined;
}

function writeSessionCookie(
  { cookies, signer }: Omit<SessionDeps, 'db'>,
  id: string,
  seconds = SESSION_SECONDS,
): string {
  return cookies.write('session', `${id}.${signer.sign('session', id)}`, seconds);
}

function endOf(now: Date): Date {
  return new Date(now.getTime() + SESSION_SECONDS * 1000);
}

const MAX_USER_AGENT_LENGTH = 512;
/** Known names only: for unknown browsers and systems the library returns text from the header, which is not stored. */
const BROWSERS: ReadonlySet<string> = new Set(Object.values(Bowser.BROWSER_MAP));
const SYSTEMS: ReadonlySet<string> = new Set(Object.values(Bowser.OS_MAP));

/** Reads browser and operating system from `User-Agent`, such as `Firefox`, `Windows`; null for those that it does not name. */
function readDevice({ headers }: Request): { browser: string | null; system: string | null } {
  const agent = headers.get('user-agent')?.slice(0, MAX_USER_AGENT_LENGTH);
  if (!agent) return { browser: null, system: null };
  const { browser, os } = Bowser.parse(agent);
  return { browser: knownOf(BROWSERS, browser.name), system: knownOf(SYSTEMS, os.name) };
}

function knownOf(names: ReadonlySet<string>, name: string | undefined): string | null {
  return name !== undefined && names.has(name) ? name : null;
}
