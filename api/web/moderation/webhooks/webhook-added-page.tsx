import type { JSX } from 'hono/jsx/jsx-runtime';
import type { SigningWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { CopyableText } from '../../layout/copy-button.tsx';
import { Icon } from '../../layout/icons.tsx';
import { Layout, type Site } from '../../layout/layout.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { pathOfWebhook } from './webhook-deps.ts';

type AddedProps = { site: Site; visit: MemberVisit; webhook: SigningWebhook };

/** Shows the secret of a new webhook, which is displayed only once. */
export function WebhookAddedPage({ site, visit, webhook }: AddedProps): JSX.Element {
  const t = textsOf(visit.locale).webhooks;
  return (
    <Layout site={site} visit={visit} title={t.addedTitle}>
      <section class="card narrow" aria-labelledby="added">
        <h1 id="added">{t.addedTitle}</h1>
        <p>{t.addedLead}</p>
        <p class="list-words">
          <bdi>{webhook.url}</bdi>
        </p>
        <p class="warning">
          <Icon name="warning" />
          <span>{t.shownOnce}</span>
        </p>
        <CopyableText id="webhook-secret" label={t.secret} text={webhook.secret} visit={visit} />
        <p class="row">
          <a class="button button-primary" href={pathOfWebhook(webhook)}>
            {t.done}
          </a>
        </p>
      </section>
    </Layout>
  );
}
