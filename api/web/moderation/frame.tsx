import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { SteamProfile } from '../../../src/steam/persona-names.ts';
import type { ResolveVanity } from '../../../src/steam/vanity-names.ts';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { addressWith, type ListPlace } from '../layout/pages-nav.tsx';
import type { AccountDeps, PagesDeps } from '../pages-deps.ts';
import type { MemberVisit } from '../request/visit.ts';

/** The dependencies of the moderation pages. */
export type ModerationDeps = Pick<PagesDeps, 'db' | 'sounds' | 'webhooks' | 'lookUpSteamBans'> &
  Pick<AccountDeps, 'site' | 'redirect' | 'onTokenRevoked'> & {
    resolveVanity: ResolveVanity;
    fetchProfile: (steamId64: SteamId64) => Promise<SteamProfile>;
  };

/** Responds to a request to a moderation page, with a page or otherwise. */
export type Handler = (
  deps: ModerationDeps,
  visit: MemberVisit,
  params: Record<string, string>,
) => Promise<Response | HtmlEscapedString>;

const TABS = ['users', 'penalties', 'admins', 'sounds', 'webhooks', 'audit'] as const;
type Tab = (typeof TABS)[number];
/** The tabs of moderators; administrators have all. */
const RECORD_TABS: readonly Tab[] = ['penalties', 'admins'];

type FrameProps = {
  site: Site;
  visit: MemberVisit;
  /** As in `Layout`. */
  cards?: readonly string[];
  tab: Tab;
  /** Of the page in the browser's tab; that of the list by default. */
  title?: string;
  /** The link to the list that the page belongs to. */
  back?: PageLink;
  children?: Child;
};

type PageLink = { href: string; label: string };

/** The layout of all moderation pages, with the tabs that the visitor may open. */
export function Frame(props: FrameProps): JSX.Element {
  const { site, visit, cards = [], tab, title, back, children } = props;
  const { tabs, title: moderation } = textsOf(visit.locale).moderation;
  const visibleTabs = isAdministrator(visit.user) ? TABS : RECORD_TABS;
  return (
    <Layout site={site} visit={visit} title={`${title ?? tabs[tab]} · ${moderation}`} cards={cards}>
      <div class="page-head">
        <h1>{moderation}</h1>
        <nav class="tabs" aria-label={moderation}>
          <ul>
            {visibleTabs.map((each) => (
              <li>
                <a href={pathOfTab(each)} aria-current={each === tab ? 'page' : undefined}>
                  {tabs[each]}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </div>
      {back && (
        <p>
          <a href={back.href}>← {back.label}</a>
        </p>
      )}
      {children}
    </Layout>
  );
}

/** The path of the list of a tab. */
export function pathOfTab(tab: Tab): string {
  return tab === 'users' ? '/account/moderation' : `/account/moderation/${tab}`;
}

/** One page of a list that is read from the newest row on. */
type NewestFirst<Row> = {
  rows: Row[];
  /** Whether these are the newest rows. */
  isNewest: boolean;
  /** The `before` of the next page; undefined on the last one. */
  older: number | undefined;
};

/** Splits off the row that only says that there is another page. @param found up to one row more than fit on a page. */
export function toPage<Row extends { id: number }>(
  found: readonly Row[],
  { before, size }: { before: number | undefined; size: number },
): NewestFirst<Row> {
  const rows = found.slice(0, size);
  return { rows, isNewest: before === undefined, older: found.length > size ? rows.at(-1)?.id : undefined };
}

type OlderPagesProps = ListPlace & {
  list: Omit<NewestFirst<unknown>, 'rows'>;
  label: string;
  words: { newest: string; older: string };
  visit: MemberVisit;
};

/** Links to the newest and to older entries of a list; null without any. */
export function OlderPages({ list, label, words, visit, ...place }: OlderPagesProps): JSX.Element | null {
  const { isNewest, older } = list;
  if (isNewest && older === undefined) return null;
  return (
    <nav class="pages" aria-label={label}>
      {!isNewest && (
        <a class="button button-quiet" href={addressWith(visit, { before: undefined }, place)}>
          {words.newest}
        </a>
      )}
      {older !== undefined && (
        <a class="button button-quiet" href={addressWith(visit, { before: older }, place)}>
          {words.older}
        </a>
      )}
    </nav>
  );
}
