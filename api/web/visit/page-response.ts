import type { JSX } from 'hono/jsx/jsx-runtime';

const HTML_TYPE = 'text/html; charset=utf-8';

/** The markup of a page. */
export async function renderPage(page: JSX.Element): Promise<string> {
  return `<!doctype html>${await (await page).toString()}`;
}

/** A page as a response; `createResponseGuard` adds the headers that every response carries. */
export async function respondWithPage(page: JSX.Element, status = 200): Promise<Response> {
  return new Response(await renderPage(page), { status, headers: { 'content-type': HTML_TYPE } });
}
