import { type EncodedBody, encodeBody } from './encoding.ts';

/** A JSON body that is serialised once and sent many times. */
export type JsonBody = EncodedBody;

/**
 * Serialises and compresses a value. Its ETag is computed over everything but `cached_at`, so that all processes send the
 * same one.
 */
export function buildJsonBody(value: unknown): JsonBody {
  const text = JSON.stringify(value);
  // Cannot match inside a string value, where quotes are escaped.
  return encodeBody(text, text.replace(/"cached_at":"[^"]*"/, ''));
}
