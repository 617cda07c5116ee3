import type { Language } from '../../../src/domain/language.ts';
import { isNoticeKey, type NoticeKey, textsOf } from '../locales/texts.ts';
import type { Cookies } from './cookies.ts';

/**
 * Redirects with 303, so that a reload does not repeat the POST. The next page shows the notice once: in the card named
 * by the path's fragment (`/account#tokens`), or at the top.
 */
export type Redirect = (visit: { cookies: string[] }, path: string, notice?: NoticeKey) => Response;

/**
 * The result of the last action as text, whether it reports a failure, and the id of its card; undefined for the
 * whole page.
 */
export type Notice = { text: string; isProblem: boolean; card: string | undefined };

const NOTICE_SECONDS = 60;

/**
 * Creates a function that redirects with 303 after a form.
 * @param cookies store the notice for the next page, for at most a minute.
 */
export function createRedirect(cookies: Cookies): Redirect {
  return (visit, path, notice) => {
    const card = path.split('#')[1] ?? '';
    if (notice) visit.cookies.push(cookies.write('notice', `${notice}.${card}`, NOTICE_SECONDS));
    return new Response(null, { status: 303, headers: { location: path } });
  };
}

/** Reads the cookie that {@link createRedirect} sets. */
export function readNotice(cookies: Cookies, request: Request, language: Language): Notice | undefined {
  const [name = '', card] = (cookies.read(request, 'notice') ?? '').split('.');
  if (!isNoticeKey(name)) return undefined;
  return {
    text: textsOf(language).notices[name],
    isProblem: name.startsWith('not-lifted-'),
    card: card || undefined,
  };
}
