import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Elysia } from 'elysia';
import { GuidePage } from './guide/guide.tsx';
import type { GuideFacts } from './guide/parts.tsx';

const HIDDEN = { detail: { hide: true } };

/**
 * The page at `/swagger`, and `/swagger/pl` in Polish: a guide and the reference below it. Script and style come from
 * this service and from no other host.
 */
export function openApiPage(facts: GuideFacts) {
  return new Elysia()
    .get('/swagger', () => html(GuidePage({ locale: 'en', facts })), HIDDEN)
    .get('/swagger/pl', () => html(GuidePage({ locale: 'pl', facts })), HIDDEN)
    .get('/swagger/assets/:file', ({ params }) => asset(params.file), HIDDEN);
}

const START_SCRIPT = `SwaggerUIBundle({ url: '/swagger/json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });\n`;
/** Swagger UI has a dark mode, but the page has to switch it on. */
const DARK_SCRIPT = `const dark = matchMedia('(prefers-color-scheme: dark)');
const follow = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', follow);
follow();\n`;

const JAVASCRIPT = 'text/javascript; charset=utf-8';
const CSS = 'text/css; charset=utf-8';
const SCRIPTS: Record<string, string> = { 'start.js': START_SCRIPT, 'dark.js': DARK_SCRIPT };
/** Files of Swagger UI's package. */
const PACKAGE_ASSETS: Record<string, string> = {
  'swagger-ui.css': CSS,
  'swagger-ui-bundle.js': JAVASCRIPT,
  'favicon-32x32.png': 'image/png',
};

function html(page: { toString: () => string | Promise<string> }): Response {
  return new Response(`<!doctype html>\n${page.toString()}`, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'public, max-age=300',
      'Content-Security-Policy': "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
      'X-Content-Type-Options': 'nosniff',
    },
  });
}

function asset(name: string): Response {
  if (Object.hasOwn(SCRIPTS, name)) return sendAsset(SCRIPTS[name] ?? '', JAVASCRIPT);
  if (name === 'guide.css')
    return sendAsset(readFileSync(new URL('./guide/guide.css', import.meta.url)), CSS);
  const type = Object.hasOwn(PACKAGE_ASSETS, name) ? PACKAGE_ASSETS[name] : undefined;
  if (!type) return Response.json({ success: false, message: 'Not found' }, { status: 404 });
  return sendAsset(readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))), type);
}

function sendAsset(content: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return new Response(content, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' },
  });
}
