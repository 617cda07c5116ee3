import { createHash } from 'node:crypto';
import { readBoundedBytes } from '../../../src/runtime/bounded-text.ts';

/** The community's logo, served by this service, so that opening a page sends no request to another site. */
export type Logo = {
  /** The address of the loaded logo; undefined while none is loaded. */
  url: () => string | undefined;
  /** @param fileName the last segment of the address. @returns undefined unless it is that of the current logo. */
  respond: (fileName: string) => Response | undefined;
  /** Loads or reloads the logo. On failure the current one is kept. */
  load: () => Promise<void>;
};

type LogoDeps = {
  fetch: (url: string, init: RequestInit) => Promise<Response>;
  log: { warn: (fields: object, message: string) => void };
};

/** Small, since every page loads the logo. */
const MAX_BYTES = 48 * 1024;
const LIMIT_MS = 10_000;
const SUBTYPES = ['png', 'jpeg', 'webp', 'gif', 'avif', 'svg+xml'];

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
        log.warn({ url: sourceUrl, reason: String(error) }, 'SITE_LOGO_URL cannot be read');
      }
    },
  };
}

async function read(sourceUrl: string, fetchUrl: LogoDeps['fetch']) {
  const response = await fetchUrl(sourceUrl, { signal: AbortSignal.timeout(LIMIT_MS) });
  const type = response.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  const subtype = SUBTYPES.find((name) => type === `image/${name}`);
  if (!response.ok) throw new Error(`the response has status ${response.status}`);
  if (!subtype) throw new Error(`type ${JSON.stringify(type)}: use PNG, JPEG, WebP, GIF, AVIF or SVG`);
  const bytes = await readBoundedBytes(response, MAX_BYTES);
  if (!bytes) throw new Error(`it is larger than ${MAX_BYTES / 1024} KiB`);
  const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
  return { fileName: `logo.${hash}.${subtype.replace('+xml', '')}`, type, bytes };
}
