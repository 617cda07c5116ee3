import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { isAdministrator } from '../../../src/domain/rights/administrator.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import type { SteamProfile } from '../../../src/steam/persona-names.ts';
import type { ResolveVanity } from '../../../src/steam/vanity-names.ts';
import type { AccountDeps } from '../account/account-deps.ts';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../locales/texts.ts';
import type { PagesDeps } from '../pages-deps.ts';
import type { UserVisit } from '../request/visit.ts';

/** The dependencies of the moderation pages. */
export type ModerationDeps = Pick<
  PagesDeps,
  'db' | 'sounds' | 'webhooks' | 'lookUpSteamBans' | 'panels' | 'lifts'
> &
  Pick<AccountDeps, 'site' | 'redirect' | 'onTokenRevoked' | 'appeals'> & {
    resolveVanity: ResolveVanity;
    fetchProfile: (steamId64: SteamId64) => Promise<SteamProfile>;
  };

/** Responds to a request to a moderation page: with HTML, or with another response such as a redirect. */
export type Handler = (
  deps: ModerationDeps,
  visit: UserVisit,
  params: Record<string, string>,
) => Promise<Response | HtmlEscapedString>;

/** Shows a moderation page. */
export type Show = (...request: Parameters<Handler>) => Promise<HtmlEscapedString>;

const TABS = ['users', 'penalties', 'appeals', 'admins', 'sounds', 'webhooks', 'audit', 'guide'] as const;
type Tab = (typeof TABS)[number];
/** The tabs of moderators; administrators have all. */
const RECORD_TABS: readonly Tab[] = ['penalties', 'appeals', 'admins', 'guide'];

type FrameProps = {
  site: Site;
  visit: UserVisit;
  /** As in `Layout`. */
  cards?: readonly string[];
  skipTo?: { id: string; label: string } | undefined;
  tab: Tab;
  /** The title of a page below the tab's list; undefined: the list itself. */
  title?: string;
  children?: Child;
};

/** The layout of all moderation pages, with the tabs that the visitor may open. */
export function Frame(props: FrameProps): JSX.Element {
  const { site, visit, cards = [], skipTo, tab, title, children } = props;
  const { waitingForStaff: waiting } = visit.session.appeals;
  const { tabs, title: moderation } = textsOf(visit.language).moderation;
  const visibleTabs = (isAdministrator(visit.user) ? TABS : RECORD_TABS).filter(
    (each) => each !== 'appeals' || site.takesAppeals,
  );
  return (
    <Layout
      site={site}
      visit={visit}
      title={`${title ?? tabs[tab]} · ${moderation}`}
      cards={cards}
      skipTo={skipTo}
    >
      <div class="page-head">
        <h1>{moderation}</h1>
        <nav class="tabs" aria-label={moderation}>
          <ul>
            {visibleTabs.map((each) => (
              <li>
                <a href={pathOfTab(each)} aria-current={each === tab ? 'page' : undefined}>
                  {tabs[each]}
                  {each === 'appeals' && waiting !== null && waiting > 0 && (
                    <span class="tab-count">{waiting}</span>
                  )}
                </a>
              </li>
            ))}
          </ul>
        </nav>
      </div>
      {title !== undefined && (
        <p>
          <a href={pathOfTab(tab)}>← {tabs[tab]}</a>
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

/** The path of a penalty's page. */
export function pathOfPenalty({ id }: { id: number }): string {
  return `${pathOfTab('penalties')}/${id}`;
}
