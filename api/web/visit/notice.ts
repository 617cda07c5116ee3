import { isNoticeKey, type NoticeKey, textsOf } from '../layout/locales/texts.ts';
import type { Cookies } from './cookies.ts';
import type { Visit } from './visit.ts';

/**
 * Redirects with 303, so that a reload repeats nothing. The next page shows the notice once: in the card that the path
 * names (`/account#tokens`), or at its top.
 */
export type Redirect = (visit: Visit, path: string, notice?: NoticeKey) => Response;

/** The outcome of the last action in words, and the id of the card it concerns; undefined: the whole page. */
export type Notice = { text: string; card: string | undefined };

/** The notice of the last action, which is deleted by reading it. */
export type ReadNotice = (visit: Visit) => Notice | undefined;

const NOTICE_SECONDS = 60;

/** @param cookies carry the notice to the next page, for at most a minute. */
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
    const given = cookies.read(visit.request, 'notice');
    if (given === undefined) return undefined;
    visit.cookies.push(cookies.write('notice', '', 0));
    const [name = '', card] = given.split('.');
    if (!isNoticeKey(name)) return undefined;
    return { text: textsOf(visit.locale).notices[name], card: card || undefined };
  };
}
