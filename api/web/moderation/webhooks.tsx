import type { JSX } from 'hono/jsx/jsx-runtime';
import { Conflict, InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import {
  isAppealEvent,
  isPenaltyEvent,
  PENALTY_EVENT_TYPES,
  type StoredEventType,
  WEBHOOK_EVENT_TYPES,
} from '../../../src/domain/event.ts';
import {
  type Delivery,
  isDelivered,
  KEPT_DELIVERIES,
  MAX_WEBHOOK_URL_LENGTH,
  MAX_WEBHOOKS,
  TEST_TYPE,
} from '../../../src/domain/webhook.ts';
import { DiscordWebhookRefused } from '../../../src/events/webhooks/endpoint.ts';
import { listDeliveries } from '../../../src/queries/webhooks/webhook-deliveries.ts';
import {
  enableWebhook,
  findWebhook,
  listWebhooks,
  loadWebhook,
  removeWebhook,
  type SigningWebhook,
  type Webhook,
} from '../../../src/queries/webhooks/webhooks.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { CopyableText } from '../layout/copy-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { TextField } from '../layout/form-fields.tsx';
import { Icon } from '../layout/icons.tsx';
import { Layout, type Site } from '../layout/layout.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { FullMoment, Moment } from '../layout/moment.tsx';
import { PostButton, PostForm } from '../layout/post-form.tsx';
import { formatInstant } from '../locales/locale.ts';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import { submitOnce } from '../request/forms/form.ts';
import { parseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { UserVisit } from '../request/visit.ts';
import { Frame, type Handler, type ModerationDeps, pathOfTab, type Show } from './frame.tsx';

const PATH = pathOfTab('webhooks');

/** The path of a webhook's page. */
function pathOfWebhook({ id }: Pick<Webhook, 'id'>): string {
  return `${PATH}/${id}`;
}

/** Adds a webhook and shows its secret in the response itself, so that it is in no cookie and no URL. */
export const addWebhook: Handler = async (deps, visit) => {
  const { form } = visit;
  const url = form.get('url') ?? '';
  const types = readTypes(form);
  const webhook = await submitOnce(deps.db, visit, (tx) =>
    deps.webhooks.add(tx, { url, types, actor: actorOf(visit) }),
  ).catch((cause: unknown) => {
    if (cause instanceof DiscordWebhookRefused) throw new PageError('webhook-discord', 400, { cause });
    if (cause instanceof Conflict) throw new PageError('webhook-limit', 409, { cause });
    throw cause instanceof InvalidInput ? new PageError('webhook-url', 400, { cause }) : cause;
  });
  if (webhook === undefined) return deps.redirect(visit, `${PATH}#webhooks`, 'webhook-already-added');
  return <WebhookAddedPage site={deps.site} visit={visit} webhook={webhook} />;
};

/** The selected event types; undefined for all that concern penalties. @throws {PageError} 400 when none is selected. */
function readTypes(form: ReadonlyMap<string, string>): readonly StoredEventType[] | undefined {
  const types = WEBHOOK_EVENT_TYPES.filter((type) => form.has(type));
  if (types.length === 0) throw new PageError('webhook-types', 400);
  return types.every(isPenaltyEvent) && types.length === PENALTY_EVENT_TYPES.length ? undefined : types;
}

/** The list of webhooks, and the form to add one. */
export const showWebhooks: Show = async ({ db, site }, visit) => {
  const { webhooks: t, moderation, errors } = textsOf(visit.language);
  const webhooks = await listWebhooks(db);
  return (
    <Frame site={site} visit={visit} cards={['webhooks']} tab="webhooks">
      <Card id="webhooks" title={moderation.tabs.webhooks} icon="link" notice={visit.notice}>
        <p class="lead">{t.lead}</p>
        <ListTable
          rows={webhooks}
          empty={t.none}
          columns={[
            [
              t.columns.url,
              (webhook) => (
                <a href={pathOfWebhook(webhook)}>
                  <bdi>{webhook.url}</bdi>
                </a>
              ),
              'list-words',
            ],
            [t.columns.types, (webhook) => <WebhookTypes webhook={webhook} visit={visit} />, 'list-words'],
            [t.columns.state, (webhook) => <WebhookState webhook={webhook} visit={visit} />],
            [t.columns.added, ({ createdAt }) => <Moment at={createdAt} visit={visit} />],
          ]}
        />
        {webhooks.length < MAX_WEBHOOKS ? (
          <PostForm visit={visit} action={`${PATH}#webhooks`} isSentOnce class="create create-stacked">
            <TextField
              name="url"
              id="webhook-url"
              type="url"
              label={t.columns.url}
              hint={t.urlHint}
              required
              maxlength={MAX_WEBHOOK_URL_LENGTH}
              value={visit.form.get('url')}
            />
            <fieldset class="flags">
              <legend>{t.columns.types}</legend>
              {WEBHOOK_EVENT_TYPES.filter((type) => site.takesAppeals || !isAppealEvent(type)).map((type) => (
                <label class="check">
                  <input
                    type="checkbox"
                    name={type}
                    checked={visit.problem === undefined ? isPenaltyEvent(type) : visit.form.has(type)}
                  />
                  <span>{t.typeNames[type]}</span>
                </label>
              ))}
            </fieldset>
            <button class="button button-primary" type="submit">
              <Icon name="link" />
              {t.add}
            </button>
          </PostForm>
        ) : (
          <p class="hint">{errors['webhook-limit']}</p>
        )}
      </Card>
    </Frame>
  );
};

type AddedProps = { site: Site; visit: UserVisit; webhook: SigningWebhook };

/** Shows the secret of a new webhook, which is displayed only once. */
function WebhookAddedPage({ site, visit, webhook }: AddedProps): JSX.Element {
  const t = textsOf(visit.language).webhooks;
  return (
    <Layout site={site} visit={visit} title={t.addedTitle}>
      <section class="card narrow" aria-labelledby="added">
        <h1 id="added">{t.addedTitle}</h1>
        <p>{t.addedLead}</p>
        <p class="list-words">
          <bdi>{webhook.url}</bdi>
        </p>
        <ProblemLine message={t.shownOnce} />
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

/** The page of one webhook: its state, its latest deliveries, and its actions. */
export const showWebhook: Handler = async ({ db, site }, visit, params) => {
  const texts = textsOf(visit.language);
  const t = texts.webhooks;
  const { columns } = t;
  const webhook = await loadWebhook(db, parseRowId(params.id, 'webhook'));
  const { switchedOffAt, failures } = webhook;
  const path = pathOfWebhook(webhook);
  const deliveries = await listDeliveries(db, webhook.id);
  return (
    <Frame
      site={site}
      visit={visit}
      cards={['webhook', 'deliveries']}
      tab="webhooks"
      title={t.titleOf(webhook.id)}
    >
      <Card id="webhook" title={t.titleOf(webhook.id)} icon="link" notice={visit.notice}>
        <Facts
          class="facts"
          facts={[
            [columns.url, <bdi>{webhook.url}</bdi>],
            [columns.types, <WebhookTypes webhook={webhook} visit={visit} />],
            [columns.state, <WebhookState webhook={webhook} visit={visit} />],
            [columns.added, <FullMoment at={webhook.createdAt} visit={visit} />],
          ]}
        />
        <div class="row">
          <PostButton visit={visit} action={`${path}/test`} label={t.test} />
          {(switchedOffAt !== null || failures > 0) && (
            <PostButton
              visit={visit}
              action={`${path}/enable`}
              label={switchedOffAt === null ? t.retry : t.enable}
              class="button button-primary"
            />
          )}
          <ConfirmButton
            visit={visit}
            action={`${path}/remove`}
            label={t.remove}
            title={t.removeTitle}
            lead={t.removeLead(webhook.url)}
          />
        </div>
      </Card>
      <Card id="deliveries" title={t.deliveries} icon="info" notice={visit.notice}>
        <p class="hint">{t.kept(KEPT_DELIVERIES)}</p>
        <ListTable
          rows={deliveries}
          empty={t.noDeliveries}
          columns={[
            [t.deliveryColumns.type, ({ type }) => <span>{type}</span>],
            [
              t.deliveryColumns.result,
              (delivery) => (
                <span class={`state ${isDelivered(delivery) ? 'state-live' : 'state-expired'}`}>
                  {delivery.failure === null ? String(delivery.status) : t.failures[delivery.failure]}
                </span>
              ),
            ],
            [t.deliveryColumns.at, ({ at }) => <FullMoment at={at} visit={visit} />],
            [t.deliveryColumns.duration, ({ durationMs }) => texts.status.milliseconds(durationMs)],
            [t.deliveryColumns.messageId, ({ messageId }) => <code>{messageId}</code>, 'list-words'],
            [
              t.resend,
              ({ type, messageId }) =>
                type !== TEST_TYPE && (
                  <PostButton
                    visit={visit}
                    action={`${path}/resend`}
                    label={t.resend}
                    fullLabel={t.resendNamed(messageId)}
                    class="button button-quiet button-small"
                  >
                    <input type="hidden" name="message_id" value={messageId} />
                  </PostButton>
                ),
              'list-action',
            ],
          ]}
        />
      </Card>
    </Frame>
  );
};

type WebhookProps = { webhook: Webhook; visit: UserVisit };

/** The event types that a webhook receives. */
function WebhookTypes({ webhook, visit }: WebhookProps): JSX.Element {
  if (webhook.types === null) return <span>{textsOf(visit.language).webhooks.allTypes}</span>;
  return <code>{webhook.types.join(', ')}</code>;
}

/** Whether a webhook is enabled, failing or disabled, with the next attempt or the reason. */
function WebhookState({ webhook, visit }: WebhookProps): JSX.Element {
  const t = textsOf(visit.language).webhooks.states;
  const { failures, retryAt, switchedOffAt, switchedOffReason } = webhook;
  if (switchedOffAt) {
    return (
      <span>
        <span class="state state-revoked">{t.off}</span>{' '}
        <span class="hint">
          {t.reasons[switchedOffReason ?? 'failing']}, {formatInstant(visit, switchedOffAt)}
        </span>
      </span>
    );
  }
  if (failures === 0) return <span class="state state-live">{t.on}</span>;
  return (
    <span>
      <span class="state state-expired">{t.failing(failures)}</span>{' '}
      {retryAt && <span class="hint">{t.next(formatInstant(visit, retryAt))}</span>}
    </span>
  );
}

/**
 * An action on the webhook whose id is a parameter of the path. Redirects to the list when the webhook has been removed
 * meanwhile, for example by the same form in another tab.
 */
function onWebhook(
  act: (deps: ModerationDeps, visit: UserVisit, webhook: Webhook) => ReturnType<Handler>,
): Handler {
  return async (deps, visit, params) => {
    const id = parseRowId(params.id, 'webhook');
    try {
      return await act(deps, visit, await loadWebhook(deps.db, id));
    } catch (error) {
      const isRemoved = error instanceof NotFound && !(await findWebhook(deps.db, id));
      if (!isRemoved) throw error;
      return deps.redirect(visit, `${PATH}#webhooks`, 'webhook-already-removed');
    }
  };
}

/** Sends a test event. */
export const sendTest = onWebhook(async ({ webhooks, redirect }, visit, webhook) => {
  const delivery = await webhooks.test(webhook.id, actorOf(visit));
  return redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, noticeOf(delivery));
});

/** Sends a message again. */
export const resend = onWebhook(async ({ webhooks, redirect }, visit, webhook) => {
  const messageId = visit.form.get('message_id') ?? '';
  const delivery = await webhooks.resend(webhook.id, messageId, actorOf(visit));
  return redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, noticeOf(delivery));
});

function noticeOf(delivery: Pick<Delivery, 'status'>): NoticeKey {
  return isDelivered(delivery) ? 'webhook-delivered' : 'webhook-not-delivered';
}

/** Switches a webhook on again, or lets it retry now. */
export const enable = onWebhook(async ({ db, redirect }, visit, webhook) => {
  await enableWebhook(db, webhook.id, { actor: actorOf(visit) });
  return redirect(visit, `${pathOfWebhook(webhook)}#webhook`, 'webhook-enabled');
});

/** Removes a webhook. */
export const remove = onWebhook(async ({ db, redirect }, visit, webhook) => {
  await removeWebhook(db, webhook.id, { actor: actorOf(visit) });
  return redirect(visit, `${PATH}#webhooks`, 'webhook-removed');
});

function actorOf({ user }: UserVisit) {
  return { userId: user.id };
}
