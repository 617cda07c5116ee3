import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Notice } from '../request/notice.ts';
import type { MemberVisit } from '../request/visit.ts';

type FrameProps = {
  site: Site;
  visit: MemberVisit;
  notice?: Notice | undefined;
  /** As in `Layout`. */
  cards?: readonly string[];
  tab: 'users' | 'audit' | 'sounds' | 'webhooks';
  /** Of the page in the browser's tab; that of the list by default. */
  title?: string;
  children?: Child;
};

/** The layout of all moderation pages, with their tabs. */
export function Frame({ site, visit, notice, cards = [], tab, title, children }: FrameProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Layout site={site} visit={visit} title={`${title ?? t[tab]} · ${t.title}`} notice={notice} cards={cards}>
      <div class="page-head">
        <h1>{t.title}</h1>
        <nav class="tabs" aria-label={t.title}>
          <ul>
            <li>
              <a href="/account/moderation" aria-current={tab === 'users' ? 'page' : undefined}>
                {t.users}
              </a>
            </li>
            <li>
              <a href="/account/moderation/audit" aria-current={tab === 'audit' ? 'page' : undefined}>
                {t.audit}
              </a>
            </li>
            <li>
              <a href="/account/moderation/sounds" aria-current={tab === 'sounds' ? 'page' : undefined}>
                {t.sounds}
              </a>
            </li>
            <li>
              <a href="/account/moderation/webhooks" aria-current={tab === 'webhooks' ? 'page' : undefined}>
                {t.webhooks}
              </a>
            </li>
          </ul>
        </nav>
      </div>
      {children}
    </Layout>
  );
}

type PageLink = { href: string; label: string };

/** Links to the newest and to older entries of a list; null without any. */
export function OlderPages({
  label,
  newest,
  older,
}: {
  label: string;
  newest: PageLink | undefined;
  older: PageLink | undefined;
}): JSX.Element | null {
  const links = [newest, older].filter((link) => link !== undefined);
  if (links.length === 0) return null;
  return (
    <nav class="pages" aria-label={label}>
      {links.map((link) => (
        <a class="button button-quiet" href={link.href}>
          {link.label}
        </a>
      ))}
    </nav>
  );
}
