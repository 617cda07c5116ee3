import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Db } from '../../../src/db/client.ts';
import { findOrSaveSetting } from '../../../src/queries/settings.ts';

/**
 * Signs values for several purposes with one secret. Each purpose has its own derived key, so that a signature for one
 * purpose is not valid for another.
 */
export type Signer = {
  /** base64url of HMAC-SHA256, 43 characters. */
  sign: (purpose: string, value: string) => string;
  /** Compares in constant time. */
  isSigned: (purpose: string, value: string, signature: string) => boolean;
};

/** @param secret `SESSION_SECRET`, or the generated one in the database. */
export function createSigner(secret: string): Signer {
  const sign = (purpose: string, value: string) =>
    createHmac('sha256', createHmac('sha256', secret).update(purpose).digest())
      .update(value)
      .digest('base64url');
  return { sign, isSigned: (purpose, value, signature) => isEqual(sign(purpose, value), signature) };
}

/** `SESSION_SECRET`, or one generated at the first start and stored in the database, so that all processes share it. */
export async function loadSessionSecret(db: Db, configured: string | undefined): Promise<string> {
  return configured ?? (await findOrSaveSetting(db, 'session_secret', randomBytes(32).toString('base64url')));
}

/** SHA-256 in hexadecimal, the form in which session ids are stored. */
export function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

function isEqual(one: string, other: string): boolean {
  const a = Buffer.from(one);
  const b = Buffer.from(other);
  return a.length === b.length && timingSafeEqual(a, b);
}
