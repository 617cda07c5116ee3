import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type EncodedBody, encodeBody, respondEncoded } from '../../http/encoding.ts';

const START_SCRIPT = `SwaggerUIBundle({ url: '/swagger/json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });\n`;
/** Swagger UI has a dark mode, but the page has to switch it on. */
const DARK_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();\n`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';

type Source = { type: string; read: () => string | Uint8Array<ArrayBuffer> };

const SOURCES = new Map<string, Source>([
  ['start.js', { type: JAVASCRIPT, read: () => START_SCRIPT }],
  ['dark.js', { type: JAVASCRIPT, read: () => DARK_SCRIPT }],
  ['guide.css', { type: CSS, read: () => readFileSync(new URL('guide.css', import.meta.url), 'utf8') }],
  ['swagger-ui.css', { type: CSS, read: () => readFromPackage('swagger-ui.css') }],
  ['swagger-ui-bundle.js', { type: JAVASCRIPT, read: () => readFromPackage('swagger-ui-bundle.js') }],
]);

/** Encoded at the first request for each file: Swagger UI is 2 MB, and most processes never send it. */
const encoded = new Map<string, EncodedBody>();

/** Sends a file of the page: of Swagger UI, or one that starts and styles it. */
export function respondAsset(name: string, request: Request): Response {
  const source = SOURCES.get(name);
  if (!source) return Response.json({ success: false, message: 'Not found' }, { status: 404 });
  const body = encoded.getOrInsertComputed(name, () => encodeBody(source.read()));
  return respondEncoded(request, body, {
    'Content-Type': source.type,
    'Cache-Control': 'public, max-age=3600',
  });
}

function readFromPackage(name: string): Uint8Array<ArrayBuffer> {
  return readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`)));
}
