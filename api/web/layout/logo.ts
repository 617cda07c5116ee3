import { createHash } from 'node:crypto';
import { readBoundedBytes } from '../visit/forms/bounded-text.ts';

/** The community's logo, served from here, so that opening a page sends no request to another site. */
export type Logo = {
  /** The address of what was read; undefined while there is nothing to show. */
  url: () => string | undefined;
  /** @param fileName what the address ends in. Undefined: no such logo, or an older one. */
  respond: (fileName: string) => Response | undefined;
  /** Reads it (again). What cannot be read leaves things as they are. */
  load: () => Promise<void>;
};

type LogoDeps = {
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  log: { info: (fields: object, message: string) => void };
};

/** Part of the first view of every page. */
const LARGEST_BYTES = 48 * 1024;
const LIMIT_MS = 10_000;
const EXTENSIONS: Record<string, string> = {
  'image/png': 'png',
  'image/jpeg': 'jpg',
  'image/webp': 'webp',
  'image/gif': 'gif',
  'image/avif': 'avif',
  'image/svg+xml': 'svg',
};

/** @param sourceUrl `SITE_LOGO_URL`; undefined: no logo. */
export function createLogo(sourceUrl: string | undefined, { fetch: fetchUrl, log }: LogoDeps): Logo {
  let current: { fileName: string; type: string; bytes: Uint8Array<ArrayBuffer> } | undefined;
  return {
    url: () => current && `/account/assets/${current.fileName}`,
    respond: (fileName) => {
      if (current?.fileName !== fileName) return undefined;
      return new Response(current.bytes, {
        headers: {
          'cache-control': 'public, max-age=31536000, immutable',
          'content-type': current.type,
        },
      });
    },
    load: async () => {
      if (sourceUrl === undefined) return;
      try {
        current = await read(sourceUrl, fetchUrl);
      } catch (error) {
        log.info({ reason: String(error) }, 'SITE_LOGO_URL cannot be read');
      }
    },
  };
}

async function read(sourceUrl: string, fetchUrl: LogoDeps['fetch']) {
  const response = await fetchUrl(sourceUrl, { signal: AbortSignal.timeout(LIMIT_MS) });
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  const extension = EXTENSIONS[type];
  if (!response.ok) throw new Error(`the response has status ${response.status}`);
  if (!extension) throw new Error(`type ${JSON.stringify(type)}: use PNG, JPEG, WebP, GIF, AVIF or SVG`);
  const bytes = await readBoundedBytes(response, LARGEST_BYTES);
  if (!bytes) throw new Error(`it is larger than ${LARGEST_BYTES / 1024} KiB`);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { fileName: `logo.${hash}.${extension}`, type, bytes };
}
