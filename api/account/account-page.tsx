import { accountId } from '../../src/steam-id.ts';
import { withDestination } from './destination.ts';
import { Icon, type IconName } from './icons.tsx';
import { Avatar, Card, CopyButton, FullMoment, Layout, nameOf, type Site } from './layout.tsx';
import type { Notice } from './page-response.ts';
import type { AccountSection } from './section.ts';
import { textsOf } from './texts.ts';
import type { MemberVisit, Visit } from './visit.ts';

type AccountPageProps = {
  site: Site;
  visit: MemberVisit;
  sections: readonly AccountSection[];
  notice?: Notice | undefined;
};

const SECTION_ICONS: Record<string, IconName> = {
  tokens: 'key',
  discord: 'link',
  sessions: 'devices',
  sound: 'sound',
};
const BADGES = ['isOwner', 'isAdmin', 'hasSvip', 'isServiceplus'] as const;

/** Who one is, beside the sections in their order. */
export async function renderAccountPage({
  site,
  visit,
  sections,
  notice,
}: AccountPageProps): Promise<string> {
  const t = textsOf(visit.locale);
  const bodies = await Promise.all(sections.map((section) => section.render(visit)));
  return (
    <Layout
      site={site}
      visit={visit}
      title={t.account.title}
      notice={notice}
      cards={sections.map(({ id }) => id)}
    >
      <div class="columns">
        <Profile visit={visit} sections={sections} />
        <div class="stack">
          {sections.map((section, index) => (
            <Card
              id={section.id}
              title={section.title(visit.locale)}
              icon={SECTION_ICONS[section.id] ?? 'info'}
              notice={notice}
            >
              {bodies[index]}
            </Card>
          ))}
        </div>
      </div>
    </Layout>
  );
}

function Profile({
  visit,
  sections,
}: {
  visit: MemberVisit;
  sections: readonly AccountSection[];
}): JSX.Element {
  const { user, locale } = visit;
  const t = textsOf(locale).account;
  const badges = BADGES.filter((flag) => user[flag]);
  return (
    <aside class="profile">
      <div class="card profile-card">
        <Avatar user={user} size="large" />
        <h1>
          <bdi safe>{nameOf(user, locale)}</bdi>
        </h1>
        {badges.length > 0 && (
          <ul class="badges">
            {badges.map((flag) => (
              <li class={`badge badge-${flag}`}>{t.badges[flag]}</li>
            ))}
          </ul>
        )}
        <dl class="facts">
          <dt>{t.steamId}</dt>
          <dd class="fact-copy">
            <code id="steam-id" safe>
              {user.steamId64}
            </code>
            <CopyButton target="steam-id" label={t.steamId} visit={visit} isSmall />
          </dd>
          <dt>{t.accountId}</dt>
          <dd>
            <code>{accountId(user.steamId64)}</code>
          </dd>
          <dt>{t.memberSince}</dt>
          <dd>
            <FullMoment at={user.createdAt} locale={locale} />
          </dd>
        </dl>
        <a
          class="button button-quiet"
          href={`https://steamcommunity.com/profiles/${user.steamId64}`}
          rel="noreferrer noopener"
        >
          {t.steamProfile}
        </a>
      </div>
      <nav class="contents" aria-label={t.onThisPage}>
        <ul>
          {sections.map((section) => (
            <li>
              <a href={`#${section.id}`}>{section.title(locale)}</a>
            </li>
          ))}
        </ul>
      </nav>
    </aside>
  );
}

/** What a visitor who is not signed in sees. */
export function SignInPage({
  site,
  visit,
  notice,
}: {
  site: Site;
  visit: Visit;
  notice?: Notice | undefined;
}): JSX.Element {
  const t = textsOf(visit.locale).signIn;
  const icons: IconName[] = ['key', 'link', 'sound'];
  return (
    <Layout site={site} visit={visit} title={t.title} notice={notice}>
      <section class="hero" aria-labelledby="welcome">
        <div class="hero-mark">
          <Icon name="mark" />
        </div>
        <h1 id="welcome">{t.heading}</h1>
        <p class="hero-lead">{t.lead}</p>
        <a class="button button-primary button-large" href={withDestination('/account/sign-in', visit.next)}>
          <Icon name="shield" />
          {t.button}
        </a>
      </section>
      <ul class="points">
        {t.points.map(([title, text], index) => (
          <li class="card">
            <Icon name={icons[index] ?? 'info'} />
            <h2>{title}</h2>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </Layout>
  );
}

type MessageProps = {
  site: Site;
  visit: Visit;
  message: string;
  /** A reference for the operator's log. */
  errorId?: string | undefined;
  /** Where to try again; without it only the way home is offered. */
  retryPath?: string | undefined;
};

/** A failure in words, with a way on. */
export function ErrorPage({ site, visit, message, errorId, retryPath }: MessageProps): JSX.Element {
  const t = textsOf(visit.locale).errors;
  return (
    <Layout site={site} visit={visit} title={t.title}>
      <section class="card narrow" aria-labelledby="error">
        <h1 id="error">{t.title}</h1>
        <p role="alert">{message}</p>
        {errorId && <p class="hint">{t.reference(errorId)}</p>}
        <p class="row">
          {retryPath !== undefined && (
            <a class="button button-primary" href={retryPath}>
              {t.retry}
            </a>
          )}
          <a class="button button-quiet" href="/account">
            {t.home}
          </a>
        </p>
      </section>
    </Layout>
  );
}
