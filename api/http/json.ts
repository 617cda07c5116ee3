import { type EncodedBody, encodeBody } from './encoding.ts';

/** A JSON body that is serialised once and sent many times. */
export type JsonBody = EncodedBody;

/**
 * Serialises and compresses a value, and computes its ETag.
 * @param options.identity the part that the ETag is computed from; all of it by default.
 */
export function buildJsonBody(value: unknown, { identity }: { identity?: unknown } = {}): JsonBody {
  return encodeBody(JSON.stringify(value), identity === undefined ? undefined : JSON.stringify(identity));
}

/** `2026-11-21T10:00:00+00:00`, the form of every timestamp but `created_at` of a user. */
export function formatTimestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** `2026-11-21T10:00:00Z`. */
export function formatTimestampZ(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
