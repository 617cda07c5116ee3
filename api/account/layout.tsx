import { type Children, escapeHtml } from '@kitajs/html';
import type { User } from '../../src/queries/users.ts';
import { hasVisibleCharacter } from '../../src/visible-text.ts';
import type { Assets } from './assets.ts';
import { CSRF_FIELD } from './form.ts';
import { Icon, type IconName } from './icons.tsx';
import { formatInstant, formatRelative, type Locale } from './locale.ts';
import type { Notice } from './page-response.ts';
import { textsOf } from './texts.ts';
import type { MemberVisit, Visit } from './visit.ts';

/** What every page of this process has in common. */
export type Site = {
  assets: Assets;
  /** Shown as the name of the site: the host of `PUBLIC_URL`. */
  name: string;
};

type LayoutProps = {
  site: Site;
  visit: Visit;
  title: string;
  notice?: Notice | undefined;
  /** Ids of the cards of this page that show the notices which concern them; others stand at the top. */
  cards?: readonly string[];
  children?: Children;
};

/** The frame of every page: head, bar, notice, content, foot. */
export function Layout({ site, visit, title, notice, cards = [], children }: LayoutProps): JSX.Element {
  const t = textsOf(visit.locale);
  return (
    <>
      {'<!doctype html>'}
      <html lang={visit.locale}>
        <head>
          <meta charset="utf-8" />
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="dark light" />
          <meta name="robots" content="noindex" />
          <title safe>{`${title} · ${site.name}`}</title>
          <link rel="icon" type="image/svg+xml" href={site.assets.url('favicon.svg')} />
          <link rel="stylesheet" href={site.assets.url('account.css')} />
          <script type="module" src={site.assets.url('account.js')}></script>
        </head>
        <body data-copied={t.copied} data-cancel={t.cancel}>
          <a class="skip" href="#content">
            {t.skipToContent}
          </a>
          <Bar site={site} visit={visit} />
          <main id="content" class="page">
            {notice && !cards.includes(notice.card ?? '') && <NoticeLine notice={notice} />}
            {children}
          </main>
          <footer class="foot">
            <p>{t.footer}</p>
          </footer>
        </body>
      </html>
    </>
  );
}

function NoticeLine({ notice }: { notice: Notice }): JSX.Element {
  return (
    <p class="notice" role="status">
      <Icon name="info" />
      <span>{notice.text}</span>
    </p>
  );
}

function Bar({ site, visit }: { site: Site; visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale);
  const user = visit.session?.user;
  const isModeration = visit.url.pathname.startsWith('/account/moderation');
  return (
    <header class="bar">
      <div class="bar-inner">
        <a class="brand" href="/account">
          <Icon name="mark" />
          <span safe>{site.name}</span>
        </a>
        <nav aria-label={t.nav.label}>
          <ul class="bar-links">
            {user && (
              <li>
                <a href="/account" aria-current={isModeration ? undefined : 'page'}>
                  {t.nav.account}
                </a>
              </li>
            )}
            {user && (user.isAdmin || user.isOwner) && (
              <li>
                <a href="/account/moderation" aria-current={isModeration ? 'page' : undefined}>
                  {t.nav.moderation}
                </a>
              </li>
            )}
            <li>
              <a href="/swagger">{t.nav.docs}</a>
            </li>
          </ul>
        </nav>
        <LanguageSwitch visit={visit} />
      </div>
    </header>
  );
}

function LanguageSwitch({ visit }: { visit: Visit }): JSX.Element {
  const t = textsOf(visit.locale);
  const other: Locale = visit.locale === 'pl' ? 'en' : 'pl';
  const target = new URLSearchParams(visit.request.method === 'GET' ? visit.url.search : '');
  target.set('lang', other);
  return (
    <a
      class="language"
      href={attribute(visit.request.method === 'GET' ? `?${target}` : `/account?lang=${other}`)}
      lang={other}
      hreflang={other}
      title={t.switchLanguageHint}
    >
      {t.switchLanguage}
    </a>
  );
}

type CardProps = {
  id: string;
  title: string;
  icon?: IconName;
  /** A short plain text beside the heading. */
  aside?: string;
  /** Shown here if it concerns this card. */
  notice?: Notice | undefined;
  children?: Children;
};

/** A section with a heading of its own, reachable as `#id`. */
export function Card({ id, title, icon, aside, notice, children }: CardProps): JSX.Element {
  return (
    <section class="card" id={id} aria-labelledby={`${id}-title`}>
      <div class="card-head">
        {icon && <Icon name={icon} />}
        <h2 id={`${id}-title`}>{title}</h2>
        {aside && (
          <span class="card-aside" safe>
            {aside}
          </span>
        )}
      </div>
      {notice?.card === id && <NoticeLine notice={notice} />}
      {children}
    </section>
  );
}

/** The hidden field without which no form is accepted. */
export function CsrfField({ visit }: { visit: Pick<MemberVisit, 'csrfToken'> }): JSX.Element {
  return <input type="hidden" name={CSRF_FIELD} value={visit.csrfToken} />;
}

/** Steam's picture, or the first letter of the name. */
export function Avatar({ user, size }: { user: User; size: 'small' | 'large' }): JSX.Element {
  if (user.avatarUrl) {
    return (
      <img
        class={`avatar avatar-${size}`}
        src={attribute(user.avatarUrl)}
        alt=""
        width="184"
        height="184"
        data-letter={attribute(firstLetter(user.nickname))}
      />
    );
  }
  return (
    <span class={`avatar avatar-${size} avatar-letter`} aria-hidden="true" safe>
      {firstLetter(user.nickname)}
    </span>
  );
}

/** The first letter or digit, in upper case: names begin with flags, swords and direction marks. */
export function firstLetter(name: string): string {
  return /[\p{L}\p{N}]/u.exec(name)?.[0].toUpperCase() ?? '?';
}

/** What a user is shown as: the name known, else a word and the end of the SteamID. Not escaped. */
export function nameOf(user: { nickname: string; steamId64: string }, locale: Locale): string {
  if (hasVisibleCharacter(user.nickname)) return user.nickname;
  return `${textsOf(locale).unknownNickname} ${user.steamId64.slice(-4)}`;
}

/** A moment as `3 days ago`, with the full date in the title. */
export function Moment({ at, visit }: { at: Date; visit: Pick<Visit, 'locale' | 'now'> }): JSX.Element {
  return (
    <time datetime={at.toISOString()} title={formatInstant(visit.locale, at)} data-local="title">
      {formatRelative(visit.locale, at, visit.now)}
    </time>
  );
}

/** A moment as a full date; the script turns it into the visitor's own zone. */
export function FullMoment({ at, locale }: { at: Date; locale: Locale }): JSX.Element {
  return (
    <time datetime={at.toISOString()} data-local="text">
      {formatInstant(locale, at)}
    </time>
  );
}

type CopyProps = { target: string; label: string; visit: Visit; isSmall?: boolean };

/** A button that copies what the element `target` holds; shown by the script, since it needs one. */
export function CopyButton({ target, label, visit, isSmall = false }: CopyProps): JSX.Element {
  const t = textsOf(visit.locale);
  return (
    <button type="button" class="button button-quiet copy" data-copy={target} hidden>
      <Icon name="copy" />
      <span data-copy-label class={isSmall ? 'sr-only' : undefined}>
        {t.copy}
      </span>
      <span class="sr-only">{label}</span>
    </button>
  );
}

type ConfirmLinkProps = {
  /** Shows the question as a page of its own; a POST to it is the answer. */
  href: string;
  label: string;
  /** Read aloud in place of `label`; not escaped yet. */
  fullLabel?: string;
  title: string;
  /** Not escaped yet. */
  lead: string;
  visit: MemberVisit;
};

/** A dangerous action: a link to a page that asks, which the script turns into a dialog that asks. */
export function ConfirmLink({ href, label, fullLabel, title, lead, visit }: ConfirmLinkProps): JSX.Element {
  return (
    <a
      class="button button-danger button-small"
      href={href}
      aria-label={fullLabel === undefined ? undefined : attribute(fullLabel)}
      data-confirm={title}
      data-confirm-lead={attribute(lead)}
      data-confirm-button={label}
      data-csrf={visit.csrfToken}
    >
      {label}
    </a>
  );
}

type ConfirmPageProps = {
  site: Site;
  visit: MemberVisit;
  title: string;
  lead: string;
  label: string;
  back: string;
};

/** The question of a {@link ConfirmLink} without a script: one form that posts to the address it is shown at. */
export function ConfirmPage({ site, visit, title, lead, label, back }: ConfirmPageProps): JSX.Element {
  const t = textsOf(visit.locale);
  return (
    <Layout site={site} visit={visit} title={title}>
      <section class="card narrow" aria-labelledby="question">
        <h1 id="question">{title}</h1>
        <p safe>{lead}</p>
        <form method="post" action={visit.url.pathname} class="row">
          <CsrfField visit={visit} />
          <button class="button button-danger" type="submit">
            {label}
          </button>
          <a class="button button-quiet" href={back}>
            {t.cancel}
          </a>
        </form>
      </section>
    </Layout>
  );
}

/** For attribute values: Kita escapes only the quote there, so that `&quot;` in a name would be shown as one. */
export function attribute(text: string): string {
  return escapeHtml(text);
}
