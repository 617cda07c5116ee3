import { Icon } from './icons.tsx';
import { CopyButton, FullMoment, Layout, type Site } from './layout.tsx';
import { textsOf } from './texts.ts';
import type { MemberVisit } from './visit.ts';

type CreatedProps = {
  site: Site;
  visit: MemberVisit;
  name: string;
  token: string;
  expiresAt: Date | null;
  publicUrl: string;
};

/** The one time that a token is shown, with a command to try it. */
export function CreatedPage({ site, visit, name, token, expiresAt, publicUrl }: CreatedProps): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  const command = `curl -H "Authorization: Bearer ${token}" "${publicUrl}/api/v1/penalties?per_page=5"`;
  return (
    <Layout site={site} visit={visit} title={t.createdTitle}>
      <section class="card narrow" aria-labelledby="created">
        <h1 id="created">{t.createdTitle}</h1>
        <p>
          <span safe>{t.createdLead(name)}</span>{' '}
          {expiresAt && (
            <span class="hint">
              {t.columns.expires}: <FullMoment at={expiresAt} locale={visit.locale} />
            </span>
          )}
        </p>
        <p class="warning">
          <Icon name="warning" />
          <span>{t.shownOnce}</span>
        </p>
        <div class="secret">
          <span class="sr-only">{t.tokenLabel}</span>
          <code id="new-token" class="secret-text" safe>
            {token}
          </code>
          <CopyButton target="new-token" label={t.tokenLabel} visit={visit} />
        </div>
        <h2 class="minor">{t.tryIt}</h2>
        <div class="secret">
          <span class="sr-only">{t.curlLabel}</span>
          <code id="new-token-curl" class="secret-text" safe>
            {command}
          </code>
          <CopyButton target="new-token-curl" label={t.curlLabel} visit={visit} />
        </div>
        <p class="row">
          <a class="button button-primary" href="/account#tokens">
            {t.done}
          </a>
        </p>
      </section>
    </Layout>
  );
}
