import { constants, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Elysia } from 'elysia';

type StorageDeps = {
  /** `STORAGE_DIR/roundsound` */
  soundFolder: string;
};

/** A published sound and nothing else: no other name, no way up, no hidden file. */
const SOUND_FILE = /^[0-9]{17}\.mp3$/;
const METHODS = 'GET, HEAD, OPTIONS';
const HEADERS = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': 'Accept-Ranges, Content-Length, Content-Range, ETag',
  'Cross-Origin-Resource-Policy': 'cross-origin',
  'X-Content-Type-Options': 'nosniff',
};
/** A link with the version of what is there, the beginning of its SHA-256, names one content for ever. */
const VERSIONED_CACHE_CONTROL = 'public, max-age=31536000, immutable';
/** The plain address, as the API gives it: asked again after a minute, answered 304 while nothing changed. */
const PLAIN_CACHE_CONTROL = 'public, max-age=60, must-revalidate';

const SHORTEST_VERSION = 16;

const HIDDEN = { detail: { hide: true } };

/** `/storage/roundsound/{steamid64}.mp3`. Not rate-limited, open to every origin. */
export function storage({ soundFolder }: StorageDeps) {
  const path = '/storage/roundsound/:file';
  const answer = ({ request, params }: { request: Request; params: { file: string } }) =>
    respondWithSound(soundFolder, params.file, request);
  return new Elysia({ name: 'storage' })
    .get(path, answer, HIDDEN)
    .head(path, answer, HIDDEN)
    .options(path, respondToPreflight, HIDDEN)
    .all(path, refuseMethod, HIDDEN);
}

async function respondWithSound(folder: string, file: string, request: Request): Promise<Response> {
  const found = SOUND_FILE.test(file) ? await readSound(join(folder, file)) : undefined;
  if (!found) return respondNotFound();
  const { bytes, etag, modifiedAt } = found;
  const version = new URL(request.url).searchParams.get('v');
  const isVersioned = version !== null && isVersionOf(version, bytes);
  const headers = {
    ...HEADERS,
    'Content-Type': 'audio/mpeg',
    'Content-Disposition': 'inline',
    'Cache-Control': isVersioned ? VERSIONED_CACHE_CONTROL : PLAIN_CACHE_CONTROL,
    'Accept-Ranges': 'bytes',
    'Last-Modified': modifiedAt.toUTCString(),
    ETag: etag,
  };
  if (isUnchanged(request, etag, modifiedAt)) return new Response(null, { status: 304, headers });
  const range = readRange(request, { etag, modifiedAt, length: bytes.length });
  if (range === 'unsatisfiable') {
    return new Response(null, {
      status: 416,
      headers: { ...headers, 'Cache-Control': 'no-store', 'Content-Range': `bytes */${bytes.length}` },
    });
  }
  const body = range ? bytes.subarray(range.start, range.end + 1) : bytes;
  const status = range ? 206 : 200;
  const sized = {
    ...headers,
    'Content-Length': String(body.length),
    ...(range && { 'Content-Range': `bytes ${range.start}-${range.end}/${bytes.length}` }),
  };
  return new Response(request.method === 'HEAD' ? null : body, { status, headers: sized });
}

type StoredSound = { bytes: Uint8Array<ArrayBuffer>; etag: string; modifiedAt: Date };

/** An old link must not keep what took its place: the player may go back to the first sound, and to its link. */
function isVersionOf(version: string, bytes: Uint8Array): boolean {
  if (version.length < SHORTEST_VERSION) return false;
  return new Bun.CryptoHasher('sha256').update(bytes).digest('hex').startsWith(version);
}

/** All of it from one open file, so that a replacement in the middle mixes nothing; a sound is a few hundred kB. */
async function readSound(path: string): Promise<StoredSound | undefined> {
  try {
    // A link that somebody put there is not followed out of the folder.
    const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      const stat = await file.stat();
      if (!stat.isFile()) return undefined;
      const { ino, mtimeMs } = stat;
      const bytes = new Uint8Array(await file.readFile());
      const version = [ino, Math.round(mtimeMs * 1000), bytes.length].map((part) => part.toString(36));
      return {
        bytes,
        etag: `"${version.join('-')}"`,
        modifiedAt: new Date(Math.floor(mtimeMs / 1000) * 1000),
      };
    } finally {
      await file.close();
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT' || code === 'ELOOP' || code === 'EISDIR') return undefined;
    throw error;
  }
}

/** RFC 9110 section 13.1: the ETag decides when it is given, else the date. */
function isUnchanged(request: Request, etag: string, modifiedAt: Date): boolean {
  const known = request.headers.get('if-none-match');
  if (known !== null) {
    return known.split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
  }
  const since = Date.parse(request.headers.get('if-modified-since') ?? '');
  return modifiedAt.getTime() <= since;
}

/** One range of bytes, both ends included; several at once are answered with the whole (RFC 9110 section 14.2). */
function readRange(
  request: Request,
  { etag, modifiedAt, length }: { etag: string; modifiedAt: Date; length: number },
): { start: number; end: number } | 'unsatisfiable' | undefined {
  const condition = request.headers.get('if-range');
  if (condition !== null && condition !== etag && condition !== modifiedAt.toUTCString()) return undefined;
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(request.headers.get('range')?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '') {
    const suffix = Math.min(Number(last), length);
    return suffix === 0 ? 'unsatisfiable' : { start: length - suffix, end: length - 1 };
  }
  const start = Number(first);
  const end = last === '' ? length - 1 : Math.min(Number(last), length - 1);
  if (start >= length) return 'unsatisfiable';
  return start > end ? undefined : { start, end };
}

function respondToPreflight(): Response {
  const allowed = {
    'Access-Control-Allow-Methods': METHODS,
    'Access-Control-Allow-Headers': 'Range, If-None-Match, If-Range',
  };
  return new Response(null, {
    status: 204,
    headers: { ...HEADERS, ...allowed, 'Access-Control-Max-Age': '86400' },
  });
}

function refuseMethod(): Response {
  const body = { success: false, message: 'Method not allowed' };
  return Response.json(body, {
    status: 405,
    headers: { ...HEADERS, Allow: METHODS, 'Cache-Control': 'no-store' },
  });
}

function respondNotFound(): Response {
  const body = { success: false, message: 'Not found' };
  return Response.json(body, { status: 404, headers: { ...HEADERS, 'Cache-Control': 'no-store' } });
}
