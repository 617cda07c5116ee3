import { isApiToken } from '../src/api-token.ts';
import type { Db } from '../src/db/client.ts';
import { type ApiToken, findLiveApiToken, saveApiTokenUses } from '../src/queries/api-tokens.ts';

export type TokenChecker = {
  /** The live token a caller shows, or undefined; fails as its query does. */
  find: (token: string, now: Date) => Promise<ApiToken | undefined>;
  /** Forgets what was found: some token changed. */
  forget: () => void;
  /** Writes the last uses that are not written yet. */
  flush: () => Promise<void>;
};

/** How long a token found is believed without a notification: bounds how late a revocation is seen if one is lost. */
const BELIEVED_MS = 500;
const MAX_REMEMBERED = 10_000;

type Finding = { token: Promise<ApiToken | undefined>; atMs: number };

/** Looks tokens up, at most twice a second each, and gathers their last uses for {@link TokenChecker.flush}. */
export function createTokenChecker(db: Db): TokenChecker {
  const findings = new Map<string, Finding>();
  const usedIds = new Set<number>();

  function look(token: string, now: Date): Promise<ApiToken | undefined> {
    const known = findings.get(token);
    if (known && now.getTime() - known.atMs < BELIEVED_MS) return known.token;
    if (findings.size >= MAX_REMEMBERED) findings.clear();
    const found = findLiveApiToken(db, token, now);
    findings.set(token, { token: found, atMs: now.getTime() });
    found.catch(() => findings.delete(token));
    return found;
  }

  return {
    find: async (text, now) => {
      if (!isApiToken(text)) return undefined;
      const token = await look(text, now);
      if (!token || (token.expiresAt && token.expiresAt <= now)) return undefined;
      usedIds.add(token.id);
      return token;
    },
    forget: () => findings.clear(),
    flush: async () => {
      const ids = [...usedIds];
      usedIds.clear();
      try {
        await saveApiTokenUses(db, ids, new Date());
      } catch (error) {
        for (const id of ids) usedIds.add(id);
        throw error;
      }
    },
  };
}

/**
 * The token a request shows: `Authorization: Bearer` before the query's `api_token`. Specification section 5.
 * Spec silent: another Authorization scheme is no token of ours and counts as none.
 */
export function readShownToken(authorization: string | null, query: URLSearchParams): string | undefined {
  const bearer = authorization === null ? undefined : /^Bearer +(.+)$/i.exec(authorization.trim())?.[1];
  return bearer ?? (query.getAll('api_token').at(-1) || undefined);
}
