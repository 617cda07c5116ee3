import {
  createCipheriv,
  createDecipheriv,
  createHash,
  createHmac,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';
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
  /** Encrypts a value, in base64url with a random start, so that nobody else can read or change it. */
  seal: (purpose: string, value: string) => string;
  /** Decrypts a sealed value; undefined for one that was not sealed for this purpose. */
  open: (purpose: string, sealed: string) => string | undefined;
};

const IV_BYTES = 12;
const TAG_BYTES = 16;

/** @param secret `SESSION_SECRET`, or the generated one in the database. */
export function createSigner(secret: string): Signer {
  const keyOf = (purpose: string) => createHmac('sha256', secret).update(purpose).digest();
  const sign = (purpose: string, value: string) =>
    createHmac('sha256', keyOf(purpose)).update(value).digest('base64url');
  return {
    sign,
    isSigned: (purpose, value, signature) => isEqual(sign(purpose, value), signature),
    seal: (purpose, value) => {
      const iv = randomBytes(IV_BYTES);
      const cipher = createCipheriv('aes-256-gcm', keyOf(purpose), iv);
      const encrypted = [cipher.update(value), cipher.final()];
      return Buffer.concat([iv, cipher.getAuthTag(), ...encrypted]).toString('base64url');
    },
    open: (purpose, sealed) => {
      const bytes = Buffer.from(sealed, 'base64url');
      // Decoding ignores padding, unknown characters and spare bits: one value would have many forms.
      if (bytes.toString('base64url') !== sealed) return undefined;
      const start = IV_BYTES + TAG_BYTES;
      try {
        const iv = bytes.subarray(0, IV_BYTES);
        const options = { authTagLength: TAG_BYTES };
        const decipher = createDecipheriv('aes-256-gcm', keyOf(purpose), iv, options);
        decipher.setAuthTag(bytes.subarray(IV_BYTES, start));
        return Buffer.concat([decipher.update(bytes.subarray(start)), decipher.final()]).toString();
      } catch {
        return undefined;
      }
    },
  };
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
