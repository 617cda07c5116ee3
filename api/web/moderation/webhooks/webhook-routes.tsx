import { Conflict, InvalidInput, NotFound } from '../../../../src/domain/errors.ts';
import { STORED_EVENT_TYPES, type StoredEventType } from '../../../../src/domain/event.ts';
import { isDelivered } from '../../../../src/domain/webhook.ts';
import { DiscordWebhookRefused } from '../../../../src/events/webhooks/endpoint.ts';
import { enableWebhook, removeWebhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { ConfirmPage } from '../../layout/confirm.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { claimForm } from '../../request/forms/form-id.ts';
import { type FormProblem, withFormShownAgain } from '../../request/forms/form-problem.ts';
import type { MemberRoute } from '../../request/member-route.ts';
import { PageError } from '../../request/page-error.ts';
import { respondWithPage } from '../../request/page-response.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { WebhookAddedPage } from './webhook-added-page.tsx';
import { isMissing, loadNamedWebhook, pathOfWebhook, WEBHOOKS, type WebhooksDeps } from './webhook-deps.ts';
import { showWebhook } from './webhook-page.tsx';
import { renderWebhooks, showWebhooks } from './webhooks-page.tsx';

const PATH = '/moderation/webhooks';

type Handler = (deps: WebhooksDeps, visit: MemberVisit, id: string | undefined) => Promise<Response>;

/** Routes of the webhook list, of a webhook's page, and of its actions. */
export function webhookRoutes(deps: WebhooksDeps): MemberRoute[] {
  const route = (method: MemberRoute['method'], path: string, handle: Handler): MemberRoute => ({
    method,
    path: `${PATH}/:id${path}`,
    handle: (visit, { id }) => handle(deps, visit, id),
  });
  return [
    { method: 'GET', path: PATH, handle: (visit) => showWebhooks(deps, visit) },
    { method: 'POST', path: PATH, handle: (visit) => add(deps, visit) },
    route('GET', '', showWebhook),
    route('POST', '/test', redirectIfRemoved(sendTest)),
    route('POST', '/resend', redirectIfRemoved(resend)),
    route('POST', '/enable', redirectIfRemoved(enable)),
    route('GET', '/remove', redirectIfRemoved(showRemoveConfirmation)),
    route('POST', '/remove', redirectIfRemoved(remove)),
  ];
}

/** Redirects to the list when the webhook has been removed meanwhile, for example by the same form in another tab. */
function redirectIfRemoved(handle: Handler): Handler {
  return async (deps, visit, id) => {
    try {
      return await handle(deps, visit, id);
    } catch (error) {
      if (!(error instanceof NotFound) || !(await isMissing(deps.db, id))) throw error;
      return deps.redirect(visit, `${WEBHOOKS}#webhooks`, 'webhook-already-removed');
    }
  };
}

const actorOf = ({ user }: MemberVisit) => ({ userId: user.id });

/** Adds a webhook and shows its secret in the response itself, so that it is in no cookie and no URL. */
async function add(deps: WebhooksDeps, visit: MemberVisit): Promise<Response> {
  const show = (problem: FormProblem) => renderWebhooks(deps, visit, { problem });
  return withFormShownAgain(visit, { values: visit.form, show }, () => addOf(deps, visit));
}

async function addOf(deps: WebhooksDeps, visit: MemberVisit): Promise<Response> {
  const { form } = visit;
  const url = form.get('url') ?? '';
  const types = readTypes(form);
  const webhook = await deps.db
    .transaction(async (tx) => {
      if (!(await claimForm(tx, form, visit))) return undefined;
      return deps.webhooks.add(tx, { url, types, actor: actorOf(visit) });
    })
    .catch((error: unknown) => {
      if (error instanceof DiscordWebhookRefused)
        throw new PageError('webhook-discord', 400, { cause: error });
      if (error instanceof Conflict) throw new PageError('webhook-limit', 409, { cause: error });
      throw error instanceof InvalidInput ? new PageError('webhook-url', 400, { cause: error }) : error;
    });
  if (webhook === undefined) return deps.redirect(visit, `${WEBHOOKS}#webhooks`, 'webhook-already-added');
  return respondWithPage(<WebhookAddedPage site={deps.site} visit={visit} webhook={webhook} />);
}

/** The selected event types; undefined for all of them. @throws {PageError} 400 when none is selected. */
function readTypes(form: ReadonlyMap<string, string>): readonly StoredEventType[] | undefined {
  const ticked = STORED_EVENT_TYPES.filter((type) => form.has(type));
  if (ticked.length === 0) throw new PageError('webhook-types', 400);
  return ticked.length === STORED_EVENT_TYPES.length ? undefined : ticked;
}

async function sendTest(deps: WebhooksDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const webhook = await loadNamedWebhook(deps.db, id);
  const sent = await deps.webhooks.test(webhook.id, actorOf(visit));
  const notice = isDelivered(sent) ? 'webhook-delivered' : 'webhook-not-delivered';
  return deps.redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, notice);
}

async function resend(deps: WebhooksDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const { form } = visit;
  const webhook = await loadNamedWebhook(deps.db, id);
  const sent = await deps.webhooks.resend(webhook.id, form.get('message_id') ?? '', actorOf(visit));
  const notice = isDelivered(sent) ? 'webhook-delivered' : 'webhook-not-delivered';
  return deps.redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, notice);
}

async function enable(deps: WebhooksDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const webhook = await loadNamedWebhook(deps.db, id);
  await enableWebhook(deps.db, webhook.id, { actor: actorOf(visit) });
  return deps.redirect(visit, `${pathOfWebhook(webhook)}#webhook`, 'webhook-enabled');
}

async function showRemoveConfirmation(
  deps: WebhooksDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const webhook = await loadNamedWebhook(deps.db, id);
  const t = textsOf(visit.locale).webhooks;
  return respondWithPage(
    <ConfirmPage
      site={deps.site}
      visit={visit}
      title={t.removeTitle}
      lead={t.removeLead(webhook.url)}
      label={t.remove}
      back={pathOfWebhook(webhook)}
    />,
  );
}

async function remove(deps: WebhooksDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const webhook = await loadNamedWebhook(deps.db, id);
  await removeWebhook(deps.db, webhook.id, { actor: actorOf(visit) });
  return deps.redirect(visit, `${WEBHOOKS}#webhooks`, 'webhook-removed');
}
