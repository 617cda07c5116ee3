/** Bytes of a JSON answer, made once and sent many times. */
export type JsonBody = {
  bytes: Uint8Array<ArrayBuffer>;
  gzip: Uint8Array<ArrayBuffer>;
  /** Weak: the same answer may be sent plain or compressed. */
  etag: string;
};

const encoder = new TextEncoder();

/** Serialises, compresses and fingerprints a value. */
export function buildJsonBody(value: unknown): JsonBody {
  const bytes = encoder.encode(JSON.stringify(value));
  return { bytes, gzip: Bun.gzipSync(bytes), etag: `W/"${Bun.hash(bytes).toString(36)}"` };
}

/** `2026-11-21T10:00:00+00:00`, the form of every timestamp but `created_at` of a user. */
export function formatTimestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19)}+00:00`;
}

/** `2026-11-21T10:00:00Z`. */
export function formatTimestampZ(at: Date): string {
  return `${at.toISOString().slice(0, 19)}Z`;
}
