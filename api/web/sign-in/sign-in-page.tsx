import type { JSX } from 'hono/jsx/jsx-runtime';
import { Icon, type IconName } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { withDestination } from '../request/destination.ts';
import type { Notice } from '../request/notice.ts';
import type { Visit } from '../request/visit.ts';
import { DemoSignIn } from './demo-sign-in.tsx';

/** The account page for visitors who are not signed in. */
export function SignInPage({
  site,
  visit,
  notice,
  defaultPublicUrl,
  canAppeal,
}: {
  site: Site;
  visit: Visit;
  notice?: Notice | undefined;
  /** The default PUBLIC_URL, if visitors would return there after signing in and not to the host that they opened. */
  defaultPublicUrl?: string | undefined;
  /** Whether members' penalties link to an appeal. */
  canAppeal: boolean;
}): JSX.Element {
  const t = textsOf(visit.locale).signIn;
  const { penalties, appeals, sound, discord, tokens } = t.points;
  const points: [IconName, string[]][] = [
    ['shield', canAppeal ? appeals : penalties],
    ['sound', sound],
    ['link', discord],
    ['key', tokens],
  ];
  return (
    <Layout site={site} visit={visit} title={t.title} notice={notice}>
      {defaultPublicUrl !== undefined && (
        <p class="warning" role="alert">
          <Icon name="warning" />
          <span>{t.misleads(defaultPublicUrl)}</span>
        </p>
      )}
      <DemoSignIn visit={visit} />
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
        {points.map(([icon, [title, text]]) => (
          <li class="card">
            <Icon name={icon} />
            <h2>{title}</h2>
            <p>{text}</p>
          </li>
        ))}
      </ul>
    </Layout>
  );
}
