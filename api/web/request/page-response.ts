import type { JSX } from 'hono/jsx/jsx-runtime';

const HTML_TYPE = 'text/html; charset=utf-8';

/** Renders a page as HTML with a doctype. */
export async function renderPage(page: JSX.Element): Promise<string> {
  return `<!doctype html>${await (await page).toString()}`;
}

/** Responds with a page; `createSecurityHeaders` adds the headers that all responses share. */
export async function respondWithPage(page: JSX.Element, status = 200): Promise<Response> {
  return new Response(await renderPage(page), { status, headers: { 'content-type': HTML_TYPE } });
}
