import type { JSX } from 'hono/jsx/jsx-runtime';
import { STORED_EVENT_TYPES } from '../../../../src/domain/event.ts';
import { MAX_WEBHOOK_URL_LENGTH, MAX_WEBHOOKS } from '../../../../src/domain/webhook.ts';
import { listWebhooks, type Webhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { Card, ProblemLine } from '../../layout/card.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { Icon } from '../../layout/icons.tsx';
import { ListTable } from '../../layout/list-table.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { Moment } from '../../layout/moment.tsx';
import { FORM_ID_FIELD } from '../../request/forms/form-id.ts';
import type { FormProblem } from '../../request/forms/form-problem.ts';
import type { Notice } from '../../request/notice.ts';
import { respondWithPage } from '../../request/page-response.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { Frame } from '../frame.tsx';
import { pathOfWebhook, WEBHOOKS, type WebhooksDeps } from './webhook-deps.ts';
import { WebhookState, WebhookTypes } from './webhook-facts.tsx';

/** The list of webhooks, and the form to add one. */
export async function showWebhooks(deps: WebhooksDeps, visit: MemberVisit): Promise<Response> {
  return respondWithPage(await renderWebhooks(deps, visit, { notice: deps.readNotice(visit) }));
}

/** @param problem why the form was refused; the form is then shown again with its values. */
export async function renderWebhooks(
  { db, site }: WebhooksDeps,
  visit: MemberVisit,
  { notice, problem }: { notice?: Notice | undefined; problem?: FormProblem | undefined },
): Promise<JSX.Element> {
  const t = textsOf(visit.locale).webhooks;
  const webhooks = await listWebhooks(db);
  return (
    <Frame site={site} visit={visit} notice={notice} cards={['webhooks']} tab="webhooks">
      <Card id="webhooks" title={t.title} icon="link" notice={notice}>
        <p class="lead">{t.lead}</p>
        {webhooks.length === 0 ? (
          <p class="empty">{t.none}</p>
        ) : (
          <WebhookTable webhooks={webhooks} visit={visit} />
        )}
        {webhooks.length < MAX_WEBHOOKS ? (
          <AddForm visit={visit} problem={problem} />
        ) : (
          <p class="hint">{textsOf(visit.locale).errors['webhook-limit']}</p>
        )}
      </Card>
    </Frame>
  );
}

function WebhookTable({ webhooks, visit }: { webhooks: Webhook[]; visit: MemberVisit }): JSX.Element {
  const { columns } = textsOf(visit.locale).webhooks;
  return (
    <ListTable
      rows={webhooks}
      columns={[
        [
          columns.url,
          (webhook) => (
            <a href={pathOfWebhook(webhook)}>
              <bdi>{webhook.url}</bdi>
            </a>
          ),
          'list-words',
        ],
        [columns.types, (webhook) => <WebhookTypes webhook={webhook} visit={visit} />, 'list-words'],
        [columns.state, (webhook) => <WebhookState webhook={webhook} visit={visit} />],
        [columns.added, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
      ]}
    />
  );
}

function AddForm({ visit, problem }: { visit: MemberVisit; problem: FormProblem | undefined }): JSX.Element {
  const t = textsOf(visit.locale).webhooks;
  return (
    <form method="post" action={`${WEBHOOKS}#webhooks`} class="create create-stacked">
      {problem && <ProblemLine message={problem.message} />}
      <CsrfField visit={visit} />
      <input type="hidden" name={FORM_ID_FIELD} value={crypto.randomUUID()} />
      <div class="field">
        <label for="webhook-url">{t.url}</label>
        <input
          id="webhook-url"
          name="url"
          type="url"
          required
          maxlength={MAX_WEBHOOK_URL_LENGTH}
          value={problem?.values.get('url')}
          aria-describedby="webhook-url-hint"
        />
        <p class="hint" id="webhook-url-hint">
          {t.urlHint}
        </p>
      </div>
      <fieldset class="flags">
        <legend>{t.types}</legend>
        {STORED_EVENT_TYPES.map((type) => (
          <label class="check">
            <input type="checkbox" name={type} checked={!problem || problem.values.has(type)} />
            <span>{t.typeNames[type]}</span>
          </label>
        ))}
      </fieldset>
      <button class="button button-primary" type="submit">
        <Icon name="link" />
        {t.add}
      </button>
    </form>
  );
}
