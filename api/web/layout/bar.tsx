import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import { DEFAULT_LANGUAGE, LANGUAGES, type Language, listLanguages } from '../../../src/domain/language.ts';
import { isAdministrator, mayReadRecords } from '../../../src/domain/rights/administrator.ts';
import { textsOf } from '../locales/texts.ts';
import { withDestination } from '../request/destination.ts';
import { isRead, type Visit } from '../request/visit.ts';
import { Icon } from './icons.tsx';
import type { Logo } from './logo.ts';
import { Avatar, nameOf } from './person.tsx';
import { PostButton } from './post-form.tsx';

/** The community's details in the navigation bar. */
export type Community = {
  /** `SITE_NAME`, or the host of `PUBLIC_URL`. */
  name: string;
  logo: Logo;
  /** The invite to the community's Discord server; undefined when not configured. */
  discordInviteUrl: string | undefined;
  /** Whether the list of penalties is public. */
  arePenaltiesPublic: boolean;
  /** Whether players appeal on this site. */
  takesAppeals: boolean;
};

/** Where the guide to the API is shown in a language. */
export function guidePathOf(language: Language): string {
  return language === DEFAULT_LANGUAGE ? '/swagger' : `/swagger/${language}`;
}

/** The navigation bar of every page: links, the language switch, and the account menu or sign-in link. */
export function Bar({ site, visit }: { site: Community; visit: Visit }): JSX.Element {
  const { language, session } = visit;
  const { pathname } = visit.url;
  const user = session?.user;
  return (
    <PlainBar
      site={site}
      language={language}
      pathname={pathname}
      moderationPath={user && mayReadRecords(user) ? moderationOf(user) : undefined}
    >
      <LanguageSwitch visit={visit} />
      {user ? (
        <AccountMenu
          visit={visit}
          user={user}
          askedId={site.takesAppeals ? (session?.appeals.askedId ?? null) : null}
        />
      ) : (
        <a
          class="sign-in"
          href={withDestination('/account', visit.next)}
          aria-current={pathname === '/account' ? 'page' : undefined}
        >
          {textsOf(language).shell.nav.signIn}
        </a>
      )}
    </PlainBar>
  );
}

type PlainBarProps = {
  site: Community;
  language: Language;
  pathname: string;
  /** Where the link to moderation leads; without it there is none. */
  moderationPath?: string | undefined;
  /** What stands at its end. */
  children: Child;
};

/** The bar of a page that is the same for all visitors, such as the guide. */
export function PlainBar(props: PlainBarProps): JSX.Element {
  const { site, language, pathname, moderationPath, children } = props;
  const t = textsOf(language).shell.nav;
  const logo = site.logo.url();
  const links = [
    { href: '/', text: t.servers, isHere: /^\/(?:$|servers\/|connect\/)/ },
    ...(site.arePenaltiesPublic ? [{ href: '/penalties', text: t.penalties, isHere: /^\/penalties/ }] : []),
    ...(moderationPath !== undefined
      ? [{ href: moderationPath, text: t.moderation, isHere: /^\/account\/moderation/ }]
      : []),
    { href: guidePathOf(language), text: t.docs, isHere: /^\/swagger/ },
  ];
  return (
    <header class="bar">
      <div class="bar-inner">
        <a class="brand" href="/">
          {logo === undefined ? (
            <Icon name="mark" />
          ) : (
            <img class="brand-logo" src={logo} alt="" width="32" height="32" />
          )}
          <span dir="auto">{site.name}</span>
        </a>
        <nav aria-label={t.label}>
          <ul class="bar-links">
            {links.map(({ href, text, isHere }) => (
              <li>
                <a href={href} aria-current={isHere.test(pathname) ? ariaCurrent(href, pathname) : undefined}>
                  {text}
                </a>
              </li>
            ))}
            {site.discordInviteUrl !== undefined && (
              <li>
                <a href={site.discordInviteUrl} rel="noreferrer noopener">
                  Discord
                </a>
              </li>
            )}
          </ul>
        </nav>
        <div class="bar-end">{children}</div>
      </div>
    </header>
  );
}

/** `page` for the link to the current page, `true` for a link to a page above it. */
function ariaCurrent(href: string, pathname: string): 'page' | 'true' {
  return href === pathname ? 'page' : 'true';
}

/** The first moderation page that a user may open. */
function moderationOf(user: SessionUser): string {
  return isAdministrator(user) ? '/account/moderation' : '/account/moderation/penalties';
}

type SessionUser = NonNullable<Visit['session']>['user'];

type MenuProps = {
  visit: Visit;
  user: SessionUser;
  /** The visitor's appeal that waits for their answer. */
  askedId: number | null;
};

/**
 * The menu opens without scripts; pages.js closes it on Escape and on a click elsewhere. On phones it has the language
 * switch, which the bar has no room for.
 */
function AccountMenu({ visit, user, askedId }: MenuProps): JSX.Element {
  const t = textsOf(visit.language).shell.nav;
  return (
    <details class="menu" data-menu>
      <summary>
        <Avatar name={user.nickname} size="tiny" />
        <span class="menu-who">
          <bdi class="menu-name">{nameOf(user, visit.language)}</bdi>
          {askedId !== null && <span class="menu-mark">{t.question}</span>}
        </span>
      </summary>
      <ul class="menu-list">
        {askedId !== null && (
          <li>
            <a href={`/account/appeals/${askedId}`}>
              <Icon name="info" />
              {t.answerQuestion}
            </a>
          </li>
        )}
        <li>
          <a href="/account" aria-current={visit.url.pathname === '/account' ? 'page' : undefined}>
            <Icon name="key" />
            {t.account}
          </a>
        </li>
        <li class="menu-language">
          <LanguageSwitch visit={visit} />
        </li>
        <li>
          <PostButton visit={visit} action="/account/sign-out" icon="leave" label={t.signOut} class="" />
        </li>
      </ul>
    </details>
  );
}

/**
 * A link to each other language. Null on a page that responds to a form: a link cannot request it again, and its
 * content may be shown only once.
 */
function LanguageSwitch({ visit }: { visit: Visit }): JSX.Element | null {
  if (!isRead(visit.request)) return null;
  const others = listLanguages().filter((language) => language !== visit.language);
  return (
    <>
      {others.map((other) => {
        const target = new URLSearchParams(visit.url.search);
        target.set('lang', other);
        return <LanguageLink language={other} href={`?${target}`} />;
      })}
    </>
  );
}

/** A link to the same page in another language. */
export function LanguageLink({ language, href }: { language: Language; href: string }): JSX.Element {
  const hint = textsOf(language).shell.switchToThis;
  return (
    <a class="language" href={href} lang={language} hreflang={language} title={hint}>
      {LANGUAGES[language].name}
    </a>
  );
}
