import { randomBytes } from 'node:crypto';
import { type Db, isDatabaseOutage } from '../../src/db/client.ts';
import {
  createSession,
  deleteSession,
  extendSession,
  findSession,
  type Session,
} from '../../src/queries/sessions.ts';
import type { User } from '../../src/queries/users.ts';
import type { Cookies } from './cookies.ts';
import { hashOf, type Signer } from './signing.ts';

export type SessionDeps = { db: Db; cookies: Cookies; signer: Signer };

/** Thirty days after the last visit. */
const SESSION_SECONDS = 30 * 24 * 3600;
/** A session in use is extended at most this often: a visit costs a read, not a write. */
const EXTEND_AFTER_MS = 3_600_000;

/**
 * Signs a user in: a fresh id each time, so that an id planted before sign-in is worth nothing after it.
 * @returns the Set-Cookie line.
 */
export async function startSession(
  { db, cookies, signer }: SessionDeps,
  user: User,
  now: Date,
): Promise<string> {
  const id = randomBytes(32).toString('base64url');
  await createSession(db, { idHash: hashOf(id), userId: user.id, expiresAt: endOf(now), now });
  return writeSessionCookie({ cookies, signer }, id);
}

/**
 * The session a request belongs to, extended when it is time.
 * @returns the Set-Cookie line as well when the cookie has to move with it.
 */
export async function openSession(
  { db, cookies, signer }: SessionDeps,
  request: Request,
  now: Date,
): Promise<{ session: Session; cookie?: string } | undefined> {
  const id = readSessionId({ cookies, signer }, request);
  if (id === undefined) return undefined;
  const session = await findSession(db, hashOf(id), now);
  if (!session) return undefined;
  if (now.getTime() - session.seenAt.getTime() < EXTEND_AFTER_MS) return { session };
  try {
    await extendSession(db, session.idHash, { expiresAt: endOf(now), now });
  } catch (error) {
    // A database that only reads still shows pages.
    if (!isDatabaseOutage(error)) throw error;
    return { session };
  }
  return { session, cookie: writeSessionCookie({ cookies, signer }, id) };
}

/** Ends the session of this request, if any. @returns the Set-Cookie line that takes the cookie away. */
export async function endSession({ db, cookies, signer }: SessionDeps, request: Request): Promise<string> {
  const id = readSessionId({ cookies, signer }, request);
  if (id !== undefined) await deleteSession(db, hashOf(id));
  return cookies.write('session', '', 0);
}

/** An id that we signed; anything else never reaches the database. */
function readSessionId({ cookies, signer }: Omit<SessionDeps, 'db'>, request: Request): string | undefined {
  const [id = '', signature = '', ...rest] = (cookies.read(request, 'session') ?? '').split('.');
  return rest.length === 0 && signer.isSigned('session', id, signature) ? id : undefined;
}

function writeSessionCookie({ cookies, signer }: Omit<SessionDeps, 'db'>, id: string): string {
  return cookies.write('session', `${id}.${signer.sign('session', id)}`, SESSION_SECONDS);
}

function endOf(now: Date): Date {
  return new Date(now.getTime() + SESSION_SECONDS * 1000);
}
