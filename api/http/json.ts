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

/** `2026-11-21T10:00:00+00:00`, the form of every timestamp but `created_at` of a user. */
export function formatTimestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** `2026-11-21T10:00:00Z`. */
export function formatTimestampZ(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
