import { isUnchanged } from './conditional.ts';

/** A body that is encoded once and sent many times. */
export type EncodedBody = {
  /** A blob, because responses can share it, whereas each would copy an array. */
  plain: Blob;
  gzip: Blob;
  /** Weak: the same response may be sent plain or compressed. */
  etag: string;
};

/** Matches gzip unless its weight is 0, which refuses it. */
const ACCEPTS_GZIP = /gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i;

const encoder = new TextEncoder();

/** Whether the client accepts gzip. */
export function acceptsGzip(headers: Headers): boolean {
  const accepted = headers.get('accept-encoding');
  return accepted !== null && ACCEPTS_GZIP.test(accepted);
}

/** Compresses content that is sent only a few times: a third of the time of `Bun.gzipSync`, for a fifth more bytes. */
export function gzipQuickly(content: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  return Bun.gzipSync(content, { library: 'libdeflate', level: 1 });
}

/**
 * Compresses a body and computes its ETag.
 * @param identity what the ETag is computed from; the content by default.
 */
export function encodeBody(
  content: string | Uint8Array<ArrayBuffer>,
  identity: string | Uint8Array = content,
  compress: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array<ArrayBuffer> = Bun.gzipSync,
): EncodedBody {
  const bytes = typeof content === 'string' ? encoder.encode(content) : content;
  const gzip = new Blob([compress(bytes)]);
  return { plain: new Blob([bytes]), gzip, etag: etagOf(identity) };
}

/** Encodes a value as JSON. Its ETag is computed over everything but `cached_at`, so that all processes send the same one. */
export function encodeJson(value: unknown): EncodedBody {
  const text = JSON.stringify(value);
  // Cannot match inside a string value, where quotes are escaped.
  return encodeBody(text, text.replace(/"cached_at":"[^"]*"/, ''));
}

/** The weak ETag of a body. */
export function etagOf(identity: string | Uint8Array): string {
  return `W/"${Bun.hash(identity).toString(36)}"`;
}

/** The headers that an encoded body adds, with status 200 and 304 alike. */
export function encodedHeaders({ etag }: Pick<EncodedBody, 'etag'>): Record<'ETag' | 'Vary', string> {
  return { ETag: etag, Vary: 'Accept-Encoding' };
}

/**
 * Sends an encoded body: 304 when the client has it, compressed when it accepts gzip.
 * @param headers with `Content-Type`; with `Headers` in place of an object, a response takes a sixth of the time less.
 */
export function respondEncoded(
  { headers: asked }: Request,
  body: EncodedBody,
  headers: Record<string, string> | Headers,
): Response {
  const isKnown = isUnchanged(asked, body);
  const isGzip = !isKnown && acceptsGzip(asked);
  const content = isKnown ? null : isGzip ? body.gzip : body.plain;
  const response = new Response(content, { status: isKnown ? 304 : 200, headers });
  for (const [name, value] of Object.entries(encodedHeaders(body))) response.headers.set(name, value);
  if (isGzip) response.headers.set('Content-Encoding', 'gzip');
  if (isKnown) response.headers.delete('Content-Type');
  return response;
}
