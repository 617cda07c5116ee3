import { Elysia } from 'elysia';
import { SOUND_VERSION_LENGTH } from '../../src/domain/round-sound.ts';
import { isOtherVersion, isRangeOfSame, isUnchanged } from '../http/conditional.ts';
import type { ErrorResponse } from '../http/error-handler.ts';
import { splitQuery } from '../http/query.ts';
import { ERROR_CACHE_CONTROL, respondError } from '../http/responses.ts';

type StoredSound = {
  blob: Blob;
  /** SHA-256 of the bytes, in hexadecimal. */
  hash: string;
  /** In whole seconds, as `Last-Modified` shows it. */
  modifiedAt: Date;
};
type SoundFile = StoredSound & { etag: string };

type StorageDeps = {
  /** @returns undefined when there is no published file of this name. */
  open: (fileName: string) => Promise<StoredSound | undefined>;
  /** Whether a file may be served: its player may have lost the right to a sound. By default always. */
  isServed?: (fileName: string) => boolean;
};

const METHODS = 'GET, HEAD, OPTIONS';
const HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag, X-Request-Id',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
};
/** For `?v=` with the first characters of the file's SHA-256: the content at such an address never changes. */
const VERSIONED_CACHE_CONTROL = 'public, max-age=31536000, immutable';
/** For the address without version, as the API gives it: revalidated after a minute. */
const PLAIN_CACHE_CONTROL = 'public, max-age=60, must-revalidate';

/** `/storage/roundsound/{steamid64}.mp3` and `.voice.mp3`. Not rate-limited, CORS for every origin. */
export function storage({ open, isServed = () => true }: StorageDeps) {
  const path = '/storage/roundsound/:file';
  // One route for all methods: beside a GET route with a parameter, Elysia ignores one for HEAD, and answers HEAD with
  // the length of the GET handler's body.
  return new Elysia({ name: 'storage' }).all(path, async ({ request, params: { file: name } }) => {
    const { method } = request;
    if (method === 'OPTIONS') return respondToPreflight();
    if (method !== 'GET' && method !== 'HEAD') return refuseMethod();
    const sound = isServed(name) ? await open(name) : undefined;
    return respondWithSound(sound && { ...sound, etag: `"${sound.hash.slice(0, 32)}"` }, request);
  });
}

function respondWithSound(file: SoundFile | undefined, request: Request): Response {
  if (!file) return refuse({ status: 404, message: 'Not found' });
  const { blob } = file;
  const headers = headersOf(file, splitQuery(request.url).get('v'));
  if (isOtherVersion(request.headers, file)) return refuse({ status: 412, message: 'The file was replaced' });
  if (isUnchanged(request.headers, file)) return new Response(null, { status: 304, headers });
  if (request.method === 'HEAD') {
    // RFC 9110 section 14.2: Range applies to GET only.
    return new Response(null, { headers: { ...headers, 'Content-Length': String(blob.size) } });
  }
  const range = isRangeOfSame(request.headers, file)
    ? tryParseRange(request.headers.get('range'), blob.size)
    : undefined;
  if (range === 'unsatisfiable') {
    return new Response(null, {
      status: 416,
      headers: { ...headers, 'Cache-Control': 'no-store', 'Content-Range': `bytes */${blob.size}` },
    });
  }
  if (!range) return new Response(blob, { headers });
  return new Response(blob.slice(range.start, range.end + 1), {
    status: 206,
    headers: { ...headers, 'Content-Range': `bytes ${range.start}-${range.end}/${blob.size}` },
  });
}

function headersOf({ hash, etag, modifiedAt }: SoundFile, version: string | null): Record<string, string> {
  // An old link must not cache the new sound as immutable: the player may upload the old one again.
  const isVersioned = version !== null && version.length >= SOUND_VERSION_LENGTH && hash.startsWith(version);
  return {
    ...HEADERS,
    'Content-Type': 'audio/mpeg',
    'Content-Disposition': 'inline',
    'Cache-Control': isVersioned ? VERSIONED_CACHE_CONTROL : PLAIN_CACHE_CONTROL,
    'Accept-Ranges': 'bytes',
    'Last-Modified': modifiedAt.toUTCString(),
    ETag: etag,
  };
}

function respondToPreflight(): Response {
  const corsHeaders = {
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': 'Range, If-Match, If-None-Match, If-Range',
  };
  return new Response(null, {
    status: 204,
    headers: { ...HEADERS, ...corsHeaders, 'Access-Control-Max-Age': '86400' },
  });
}

function refuseMethod(): Response {
  return refuse({ status: 405, message: 'Method not allowed', headers: { Allow: METHODS } });
}

function refuse(error: ErrorResponse): Response {
  return respondError(error, { ...HEADERS, 'Cache-Control': ERROR_CACHE_CONTROL.public });
}

/** Both ends included. */
type ByteRange = { start: number; end: number };

/**
 * Reads a `Range` header with a single byte range. Undefined for none, for a malformed one and for several ranges: the
 * response is then the whole file (RFC 9110 section 14.2).
 */
function tryParseRange(header: string | null, length: number): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length - 1 };
  }
  const start = Number(first);
  const end = last === '' ? length - 1 : Math.min(Number(last), length - 1);
  if (last !== '' && start > Number(last)) return undefined;
  return start >= length ? 'unsatisfiable' : { start, end };
}
