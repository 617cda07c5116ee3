import type { Cookies } from './cookies.ts';
import { type NoticeKey, readNoticeKey, textsOf } from './texts.ts';
import type { Visit } from './visit.ts';

/**
 * Sends the visitor on with GET, so that a reload repeats nothing; the next page shows the notice once, in the card
 * that the path leads to (`/account#tokens`), or at its top.
 */
export type Redirect = (visit: Visit, path: string, notice?: NoticeKey) => Response;

/** What the last action came to, in words; the card it concerns is undefined for what concerns the whole page. */
export type Notice = { text: string; card: string | undefined };

const NOTICE_SECONDS = 60;

/** @param cookies carry the notice to the next page, for at most a minute. */
export function createRedirect(cookies: Cookies): Redirect {
  return (visit, path, notice) => {
    const card = path.split('#')[1] ?? '';
    if (notice) visit.cookies.push(cookies.write('notice', `${notice}.${card}`, NOTICE_SECONDS));
    return new Response(null, { status: 303, headers: { location: path } });
  };
}

/** Takes the notice of the last action, once. */
export function createNoticeReader(cookies: Cookies): (visit: Visit) => Notice | undefined {
  return (visit) => {
    const given = cookies.read(visit.request, 'notice');
    if (given === undefined) return undefined;
    visit.cookies.push(cookies.write('notice', '', 0));
    const [name = '', card] = given.split('.');
    const key = readNoticeKey(name);
    return key && { text: textsOf(visit.locale).notices[key], card: card || undefined };
  };
}

/** A page as an answer; what goes with every answer is added by {@link createResponseGuard}. */
export async function respondWithPage(page: JSX.Element, status = 200): Promise<Response> {
  return new Response(await page, { status, headers: { 'content-type': 'text/html; charset=utf-8' } });
}

type SecurityOptions = {
  publicUrl: string;
  /** Where forms may lead besides this site: Discord, when linking is set up. */
  formTargets: readonly string[];
};

/**
 * Adds to an answer what every answer of the account page carries. Nothing inline, nothing from elsewhere but avatars,
 * no frame around it, no address passed on; pages are kept by nobody.
 */
export function createResponseGuard({ publicUrl, formTargets }: SecurityOptions) {
  const policy = [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' https://*.steamstatic.com https://cdn.discordapp.com",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `form-action ${["'self'", ...formTargets].join(' ')}`,
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ].join('; ');
  const headers: [string, string][] = [
    ['content-security-policy', policy],
    ['referrer-policy', 'no-referrer'],
    ['x-content-type-options', 'nosniff'],
    ['x-frame-options', 'DENY'],
    ['cross-origin-opener-policy', 'same-origin'],
    ['cross-origin-resource-policy', 'same-origin'],
    ['permissions-policy', 'camera=(), geolocation=(), microphone=(), payment=(), usb=()'],
  ];
  if (publicUrl.startsWith('https:')) headers.push(['strict-transport-security', 'max-age=31536000']);

  return (response: Response, visit?: Visit): Response => {
    for (const [name, value] of headers) response.headers.set(name, value);
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store');
    for (const cookie of visit?.cookies ?? []) response.headers.append('set-cookie', cookie);
    return response;
  };
}
