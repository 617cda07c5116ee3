import type { JSX } from 'hono/jsx/jsx-runtime';
import type { TokenScope } from '../../../../src/domain/rights/token-scope.ts';
import { isolate } from '../../../../src/domain/text/isolate.ts';
import { CopyableText } from '../../layout/copy-button.tsx';
import { Icon } from '../../layout/icons.tsx';
import { Layout, type Site } from '../../layout/layout.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { FullMoment } from '../../layout/moment.tsx';
import type { MemberVisit } from '../../request/visit.ts';

type CreatedProps = {
  site: Site;
  visit: MemberVisit;
  name: string;
  token: string;
  scopes: readonly TokenScope[];
  expiresAt: Date | null;
  publicUrl: string;
};

/** Shows a new token, which is displayed only once, and a command to try it. */
export function CreatedPage(props: CreatedProps): JSX.Element {
  const { site, visit, name, token, expiresAt } = props;
  const t = textsOf(visit.locale).tokens;
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
        <CopyableText id="new-token-curl" label={t.curlLabel} text={commandFor(props)} visit={visit} />
        <p class="row">
          <a class="button button-primary" href="/account#tokens">
            {t.done}
          </a>
        </p>
      </section>
    </Layout>
  );
}

/** A request that the token's scopes allow. */
function commandFor({ visit, token, scopes, publicUrl }: CreatedProps): string {
  const requests = {
    penalties: '/penalties?per_page=5',
    lookup: `/users/lookup?steamid64=${visit.user.steamId64}`,
    events: '/events',
    servers: '/servers',
  } satisfies Record<TokenScope, string>;
  const scope = (['penalties', 'lookup', 'events'] as const).find((one) => scopes.includes(one)) ?? 'servers';
  // An event stream is printed as it comes.
  const options = scope === 'events' ? '-N ' : '';
  return `curl ${options}-H "Authorization: Bearer ${token}" "${publicUrl}/api/v1${requests[scope]}"`;
}
