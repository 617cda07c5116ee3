import { isNoticeKey, type NoticeKey, textsOf } from '../layout/locales/texts.ts';
import type { Cookies } from './cookies.ts';
import type { Visit } from './visit.ts';

/**
 * Redirects with 303, so that a reload does not repeat the POST. The next page shows the notice once: in the card named
 * by the path's fragment (`/account#tokens`), or at the top.
 */
export type Redirect = (visit: Visit, path: string, notice?: NoticeKey) => Response;

/** The result of the last action as text, and the id of the card it belongs to; undefined for the whole page. */
export type Notice = { text: string; card: string | undefined };

/** Reads the notice of the last action and deletes it. */
export type ReadNotice = (visit: Visit) => Notice | undefined;

const NOTICE_SECONDS = 60;

/** @param cookies store the notice for the next page, for at most a minute. */
export function createRedirect(cookies: Cookies): Redirect {
  return (visit, path, notice) => {
    const card = path.split('#')[1] ?? '';
    if (notice) visit.cookies.push(cookies.write('notice', `${notice}.${card}`, NOTICE_SECONDS));
    return new Response(null, { status: 303, headers: { location: path } });
  };
}

/** Reads the cookie that {@link createRedirect} sets. */
export function createNoticeReader(cookies: Cookies): ReadNotice {
  return (visit) => {
    const value = cookies.read(visit.request, 'notice');
    if (value === undefined) return undefined;
    visit.cookies.push(cookies.write('notice', '', 0));
    const [name = '', card] = value.split('.');
    if (!isNoticeKey(name)) return undefined;
    return { text: textsOf(visit.locale).notices[name], card: card || undefined };
  };
}
