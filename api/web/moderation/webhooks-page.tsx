import type { JSX } from 'hono/jsx/jsx-runtime';
import { Conflict, InvalidInput } from '../../../src/domain/errors.ts';
import { STORED_EVENT_TYPES, type StoredEventType } from '../../../src/domain/event.ts';
import { MAX_WEBHOOK_URL_LENGTH, MAX_WEBHOOKS } from '../../../src/domain/webhook.ts';
import { DiscordWebhookRefused } from '../../../src/events/webhooks/endpoint.ts';
import { listWebhooks, type SigningWebhook, type Webhook } from '../../../src/queries/webhooks/webhooks.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { CopyableText } from '../layout/copy-button.tsx';
import { CsrfField, FormIdField, TextField } from '../layout/form-fields.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { Moment } from '../layout/moment.tsx';
import { claimForm } from '../request/forms/form.ts';
import { type FormProblem, withFormShownAgain } from '../request/forms/form-problem.ts';
import { PageError } from '../request/page-error.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type ModerationDeps, pathOfTab } from './frame.tsx';
import { pathOfWebhook, WebhookState, WebhookTypes } from './webhook-page.tsx';

const PATH = pathOfTab('webhooks');

/** The list of webhooks, and the form to add one. */
export async function showWebhooks(deps: ModerationDeps, visit: MemberVisit): Promise<Response> {
  return respondWithPage(await renderWebhooks(deps, visit));
}

/** Adds a webhook and shows its secret in the response itself, so that it is in no cookie and no URL. */
export async function addWebhook(deps: ModerationDeps, visit: MemberVisit): Promise<Response> {
  const { form, user } = visit;
  const show = (problem: FormProblem) => renderWebhooks(deps, visit, problem);
  return withFormShownAgain(visit, { values: form, show }, async () => {
    const url = form.get('url') ?? '';
    const types = readTypes(form);
    const webhook = await deps.db
      .transaction(async (tx) => {
        if (!(await claimForm(tx, form, visit))) return undefined;
        return deps.webhooks.add(tx, { url, types, actor: { userId: user.id } });
      })
      .catch((cause: unknown) => {
        if (cause instanceof DiscordWebhookRefused) throw new PageError('webhook-discord', 400, { cause });
        if (cause instanceof Conflict) throw new PageError('webhook-limit', 409, { cause });
        throw cause instanceof InvalidInput ? new PageError('webhook-url', 400, { cause }) : cause;
      });
    if (webhook === undefined) return deps.redirect(visit, `${PATH}#webhooks`, 'webhook-already-added');
    return respondWithPage(<WebhookAddedPage site={deps.site} visit={visit} webhook={webhook} />);
  });
}

/** The selected event types; undefined for all of them. @throws {PageError} 400 when none is selected. */
function readTypes(form: ReadonlyMap<string, string>): readonly StoredEventType[] | undefined {
  const types = STORED_EVENT_TYPES.filter((type) => form.has(type));
  if (types.length === 0) throw new PageError('webhook-types', 400);
  return types.length === STORED_EVENT_TYPES.length ? undefined : types;
}

/** @param problem why the form was refused; the form is then shown again with its values. */
async function renderWebhooks(
  { db, site }: ModerationDeps,
  visit: MemberVisit,
  problem?: FormProblem,
): Promise<JSX.Element> {
  const t = textsOf(visit.locale).webhooks;
  const webhooks = await listWebhooks(db);
  return (
    <Frame site={site} visit={visit} cards={['webhooks']} tab="webhooks">
      <Card id="webhooks" title={t.title} icon="link" notice={visit.notice}>
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
    <form method="post" action={`${PATH}#webhooks`} class="create create-stacked">
      {problem && <ProblemLine message={problem.message} />}
      <CsrfField visit={visit} />
      <FormIdField />
      <TextField
        name="url"
        id="webhook-url"
        type="url"
        label={t.url}
        hint={t.urlHint}
        required
        maxlength={MAX_WEBHOOK_URL_LENGTH}
        value={problem?.values.get('url')}
      />
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

type AddedProps = { site: Site; visit: MemberVisit; webhook: SigningWebhook };

/** Shows the secret of a new webhook, which is displayed only once. */
function WebhookAddedPage({ site, visit, webhook }: AddedProps): JSX.Element {
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
