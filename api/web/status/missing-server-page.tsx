import type { JSX } from 'hono/jsx/jsx-runtime';
import { Layout, type Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import type { Visit } from '../request/visit.ts';

/** The page for a server that does not exist or is hidden; the two cannot be told apart. */
export function MissingServerPage({ site, visit }: { site: Site; visit: Visit }): JSX.Element {
  const texts = textsOf(visit.locale);
  const t = texts.missingServer;
  return (
    <Layout site={site} visit={visit} title={t.title}>
      <section class="card narrow" aria-labelledby="error">
        <h1 id="error">{t.title}</h1>
        <p role="alert">{t.lead}</p>
        <p class="row">
          <a class="button button-primary" href="/">
            {texts.status.allServers}
          </a>
        </p>
      </section>
    </Layout>
  );
}
