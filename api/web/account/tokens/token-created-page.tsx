import type { JSX } from 'hono/jsx/jsx-runtime';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { CopyableText } from '../../layout/copy-button.tsx';
import { Icon } from '../../layout/icons.tsx';
import { Layout, type Site } from '../../layout/layout.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { FullMoment } from '../../layout/moment.tsx';
import type { MemberVisit } from '../../visit/visit.ts';

type CreatedProps = {
  site: Site;
  visit: MemberVisit;
  name: string;
  token: string;
  expiresAt: Date | null;
  publicUrl: string;
};

/** Shows a new token, which is displayed only once, and a command to try it. */
export function CreatedPage({ site, visit, name, token, expiresAt, publicUrl }: CreatedProps): JSX.Element {
  const t = textsOf(visit.locale).tokens;
  const command = `curl -H "Authorization: Bearer ${token}" "${publicUrl}/api/v1/penalties?per_page=5"`;
  return (
    <Layout site={site} visit={visit} title={t.createdTitle}>
      <section class="card narrow" aria-labelledby="created">
        <h1 id="created">{t.createdTitle}</h1>
        <p>
          <span>{t.createdLead(isolate(name))}</span>{' '}
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
        <CopyableText id="new-token" label={t.tokenLabel} text={token} visit={visit} />
        <h2 class="minor">{t.tryIt}</h2>
        <CopyableText id="new-token-curl" label={t.curlLabel} text={command} visit={visit} />
        <p class="row">
          <a class="button button-primary" href="/account#tokens">
            {t.done}
          </a>
        </p>
      </section>
    </Layout>
  );
}
