import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Notice } from '../request/notice.ts';
import type { MemberVisit } from '../request/visit.ts';

const TABS = ['users', 'penalties', 'admins', 'sounds', 'webhooks', 'audit'] as const;
type Tab = (typeof TABS)[number];
/** The tabs of moderators; administrators have all. */
const RECORD_TABS: readonly Tab[] = ['penalties', 'admins'];

type FrameProps = {
  site: Site;
  visit: MemberVisit;
  notice?: Notice | undefined;
  /** As in `Layout`. */
  cards?: readonly string[];
  tab: Tab;
  /** Of the page in the browser's tab; that of the list by default. */
  title?: string;
  children?: Child;
};

/** The layout of all moderation pages, with the tabs that the visitor may open. */
export function Frame({ site, visit, notice, cards = [], tab, title, children }: FrameProps): JSX.Element {
  const { tabs, title: moderation } = textsOf(visit.locale).moderation;
  const shown = isAdministrator(visit.user) ? TABS : RECORD_TABS;
  return (
    <Layout
      site={site}
      visit={visit}
      title={`${title ?? tabs[tab]} · ${moderation}`}
      notice={notice}
      cards={cards}
    >
      <div class="page-head">
        <h1>{moderation}</h1>
        <nav class="tabs" aria-label={moderation}>
          <ul>
            {shown.map((each) => (
              <li>
                <a href={pathOfTab(each)} aria-current={each === tab ? 'page' : undefined}>
                  {tabs[each]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </div>
      {children}
    </Layout>
  );
}

function pathOfTab(tab: Tab): string {
  return tab === 'users' ? '/account/moderation' : `/account/moderation/${tab}`;
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
