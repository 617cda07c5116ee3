import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

const TYPES = {
  'account.css': 'text/css; charset=utf-8',
  'account.js': 'text/javascript; charset=utf-8',
  'round-sound.css': 'text/css; charset=utf-8',
  'round-sound.js': 'text/javascript; charset=utf-8',
  'favicon.svg': 'image/svg+xml',
} as const;
export type AssetName = keyof typeof TYPES;

export type Assets = {
  /** The address of a file with the hash of its bytes: whoever has it may keep it for ever. */
  url: (name: AssetName) => string;
  /** @param fileName what the address ends in. Undefined: no such file, or an older version of it. */
  respond: (fileName: string, request: Request) => Response | undefined;
};

/** Reads stylesheet, script and icon once. */
export function loadAssets(): Assets {
  const files = new Map<string, { bytes: Uint8Array<ArrayBuffer>; type: string; etag: string }>();
  const addresses = new Map<string, string>();
  for (const [name, type] of Object.entries(TYPES)) {
    const bytes = new Uint8Array(readFileSync(new URL(`./assets/${name}`, import.meta.url)));
    const hash = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
    const fileName = name.replace('.', `.${hash}.`);
    files.set(fileName, { bytes, type, etag: `"${hash}"` });
    addresses.set(name, `/account/assets/${fileName}`);
  }
  return {
    url: (name) => addresses.get(name) ?? '',
    respond: (fileName, request) => {
      const file = files.get(fileName);
      if (!file) return undefined;
      const headers = {
        'cache-control': 'public, max-age=31536000, immutable',
        'content-type': file.type,
        etag: file.etag,
      };
      const isKnown = request.headers.get('if-none-match')?.includes(file.etag);
      return isKnown ? new Response(null, { status: 304, headers }) : new Response(file.bytes, { headers });
    },
  };
}
