import type { JSX } from 'hono/jsx/jsx-runtime';
import type { MemberVisit } from '../request/visit.ts';
import { CsrfField } from './form-fields.tsx';
import { Layout, type Site } from './layout.tsx';
import { textsOf } from './locales/texts.ts';

/** What is asked before a destructive action, and the label of its button. */
export type Question = { title: string; lead: string; label: string };

type ConfirmLinkProps = Question & {
  /** The confirmation page; a POST to the same address confirms. */
  href: string;
  /** The accessible name, if `label` alone is ambiguous. */
  fullLabel?: string;
  visit: MemberVisit;
};

/** A destructive action: a link to a {@link ConfirmPage}, which pages.js replaces with a dialog. */
export function ConfirmLink({ href, label, fullLabel, title, lead, visit }: ConfirmLinkProps): JSX.Element {
  return (
    <a
      class="button button-danger button-small"
      href={href}
      aria-label={fullLabel}
      data-confirm={title}
      data-confirm-lead={lead}
      data-confirm-button={label}
      data-csrf={visit.csrfToken}
    >
      {label}
    </a>
  );
}

type ConfirmPageProps = Question & { site: Site; visit: MemberVisit; back: string };

/** The confirmation that works without scripts: a form that posts to the page's own address. */
export function ConfirmPage({ site, visit, title, lead, label, back }: ConfirmPageProps): JSX.Element {
  const t = textsOf(visit.locale).shell;
  return (
    <Layout site={site} visit={visit} title={title}>
      <section class="card narrow" aria-labelledby="question">
        <h1 id="question">{title}</h1>
        <p>{lead}</p>
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
