import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

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

/** SHA-256 in hexadecimal, the form in which session ids are stored. */
export function hashOf(value: string): string {
  return createHash('sha256').update(value).digest('hex');
}

function isEqual(expected: string, given: string): boolean {
  const a = Buffer.from(expected);
  const b = Buffer.from(given);
  return a.length === b.length && timingSafeEqual(a, b);
}
