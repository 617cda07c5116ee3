import type { Children } from '@kitajs/html';
import { USER_FLAGS } from '../../src/queries/accounts.ts';
import type { User } from '../../src/queries/users.ts';
import { Layout, type Site } from './layout.tsx';
import type { Locale } from './locale.ts';
import type { Notice } from './page-response.ts';
import { textsOf } from './texts.ts';
import type { MemberVisit } from './visit.ts';

type FrameProps = {
  site: Site;
  visit: MemberVisit;
  notice?: Notice | undefined;
  /** As in `Layout`. */
  cards?: readonly string[];
  tab: 'users' | 'audit' | 'sounds';
  children?: Children;
};

/** What every page of the moderation has in common. */
export function Frame({ site, visit, notice, cards = [], tab, children }: FrameProps): JSX.Element {
  const t = textsOf(visit.locale).moderation;
  return (
    <Layout site={site} visit={visit} title={t.title} notice={notice} cards={cards}>
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
          </ul>
        </nav>
      </div>
      {children}
    </Layout>
  );
}

type PageLink = { href: string; label: string };

/** The ways through a list that is read from the newest entry back; nothing where there is no way. */
export function OlderPages({
  label,
  newest,
  older,
}: {
  label: string;
  newest: PageLink | undefined;
  older: PageLink | undefined;
}): JSX.Element | string {
  const links = [newest, older].filter((link) => link !== undefined);
  if (links.length === 0) return '';
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

/** What a user is, as coloured labels; a dash for nothing in particular. */
export function Badges({ user, locale }: { user: User; locale: Locale }): JSX.Element {
  const names = textsOf(locale).account.badges;
  const flags = USER_FLAGS.filter((flag) => user[flag]);
  if (flags.length === 0) return <span class="hint">–</span>;
  return (
    <ul class="badges">
      {flags.map((flag) => (
        <li class={`badge badge-${flag}`}>{names[flag]}</li>
      ))}
    </ul>
  );
}
