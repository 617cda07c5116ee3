import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { NotFound } from '../../../src/domain/errors.ts';
import { type Delivery, isDelivered, KEPT_DELIVERIES, TEST_TYPE } from '../../../src/domain/webhook.ts';
import { listDeliveries } from '../../../src/queries/webhooks/webhook-deliveries.ts';
import {
  enableWebhook,
  findWebhook,
  loadWebhook,
  removeWebhook,
  type Webhook,
} from '../../../src/queries/webhooks/webhooks.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { Facts } from '../layout/facts.tsx';
import { ListTable } from '../layout/list-table.tsx';
import { formatInstant } from '../layout/locales/locale.ts';
import { type NoticeKey, textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { PostButton } from '../layout/post-button.tsx';
import { parseRowId, tryParseRowId } from '../request/numbers.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { Frame, type Handler, pathOfTab } from './frame.tsx';

/** The path of a webhook's page. */
export function pathOfWebhook({ id }: Pick<Webhook, 'id'>): string {
  return `${pathOfTab('webhooks')}/${id}`;
}

/** The page of one webhook: its state, its latest deliveries, and its actions. */
export const showWebhook: Handler = async ({ db, site }, visit, params) => {
  const t = textsOf(visit.locale).webhooks;
  const { columns } = t;
  const webhook = await loadNamedWebhook(db, params);
  const deliveries = await listDeliveries(db, webhook.id);
  return respondWithPage(
    <Frame
      site={site}
      visit={visit}
      cards={['webhook', 'deliveries']}
      tab="webhooks"
      title={t.titleOf(webhook.id)}
      back={{ href: pathOfTab('webhooks'), label: t.back }}
    >
      <Card id="webhook" title={t.titleOf(webhook.id)} icon="link" notice={visit.notice}>
        <Facts
          class="facts"
          facts={[
            [columns.url, <bdi>{webhook.url}</bdi>],
            [columns.types, <WebhookTypes webhook={webhook} visit={visit} />],
            [columns.state, <WebhookState webhook={webhook} visit={visit} />],
            [columns.added, <FullMoment at={webhook.createdAt} locale={visit.locale} />],
          ]}
        />
        <Actions webhook={webhook} visit={visit} />
      </Card>
      <Card id="deliveries" title={t.deliveries} icon="info" notice={visit.notice}>
        <p class="hint">{t.kept(KEPT_DELIVERIES)}</p>
        {deliveries.length === 0 ? (
          <p class="empty">{t.noDeliveries}</p>
        ) : (
          <DeliveryTable webhook={webhook} deliveries={deliveries} visit={visit} />
        )}
      </Card>
    </Frame>,
  );
};

type WebhookProps = { webhook: Webhook; visit: MemberVisit };

function Actions({ webhook, visit }: WebhookProps): JSX.Element {
  const t = textsOf(visit.locale).webhooks;
  const path = pathOfWebhook(webhook);
  const { switchedOffAt, failures } = webhook;
  return (
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
  );
}

function DeliveryTable({
  webhook,
  deliveries,
  visit,
}: WebhookProps & { deliveries: Delivery[] }): JSX.Element {
  const { webhooks: t, status } = textsOf(visit.locale);
  const columns = t.deliveryColumns;
  return (
    <ListTable
      rows={deliveries}
      columns={[
        [columns.type, ({ type }) => <span>{type}</span>],
        [
          columns.result,
          (delivery) => (
            <span class={`state ${isDelivered(delivery) ? 'state-live' : 'state-expired'}`}>
              {delivery.failure === null ? String(delivery.status) : t.failures[delivery.failure]}
            </span>
          ),
        ],
        [columns.at, ({ at }) => <FullMoment at={at} locale={visit.locale} />],
        [columns.duration, ({ durationMs }) => status.milliseconds(durationMs)],
        [columns.messageId, ({ messageId }) => <code>{messageId}</code>, 'list-words'],
        [
          t.resend,
          ({ type, messageId }) =>
            type !== TEST_TYPE && (
              <PostButton
                visit={visit}
                action={`${pathOfWebhook(webhook)}/resend`}
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
  );
}

/** The event types that a webhook receives. */
export function WebhookTypes({ webhook, visit }: WebhookProps): JSX.Element {
  if (webhook.types === null) return <span>{textsOf(visit.locale).webhooks.allTypes}</span>;
  return <code>{webhook.types.join(', ')}</code>;
}

/** Whether a webhook is enabled, failing or disabled, with the next attempt or the reason. */
export function WebhookState({ webhook, visit }: WebhookProps): JSX.Element {
  const t = textsOf(visit.locale).webhooks.states;
  const { failures, retryAt, switchedOffAt, switchedOffReason } = webhook;
  if (switchedOffAt) {
    return (
      <span>
        <span class="state state-revoked">{t.off}</span>{' '}
        <span class="hint">
          {t.reasons[switchedOffReason ?? 'failing']}, {formatInstant(visit.locale, switchedOffAt)}
        </span>
      </span>
    );
  }
  if (failures === 0) return <span class="state state-live">{t.on}</span>;
  return (
    <span>
      <span class="state state-expired">{t.failing(failures)}</span>{' '}
      {retryAt && <span class="hint">{t.next(formatInstant(visit.locale, retryAt))}</span>}
    </span>
  );
}

/** Redirects to the list when the webhook has been removed meanwhile, for example by the same form in another tab. */
export function redirectIfRemoved(handle: Handler): Handler {
  return async (deps, visit, params) => {
    try {
      return await handle(deps, visit, params);
    } catch (error) {
      const id = tryParseRowId(params.id ?? null);
      const isRemoved = error instanceof NotFound && id !== undefined && !(await findWebhook(deps.db, id));
      if (!isRemoved) throw error;
      return deps.redirect(visit, `${pathOfTab('webhooks')}#webhooks`, 'webhook-already-removed');
    }
  };
}

/** Sends a test event. */
export const sendTest: Handler = async ({ db, webhooks, redirect }, visit, params) => {
  const webhook = await loadNamedWebhook(db, params);
  const result = await webhooks.test(webhook.id, actorOf(visit));
  return redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, noticeOf(result));
};

/** Sends a message again. */
export const resend: Handler = async ({ db, webhooks, redirect }, visit, params) => {
  const webhook = await loadNamedWebhook(db, params);
  const result = await webhooks.resend(webhook.id, visit.form.get('message_id') ?? '', actorOf(visit));
  return redirect(visit, `${pathOfWebhook(webhook)}#deliveries`, noticeOf(result));
};

/** Switches a webhook on again, or lets it retry now. */
export const enable: Handler = async ({ db, redirect }, visit, params) => {
  const webhook = await loadNamedWebhook(db, params);
  await enableWebhook(db, webhook.id, { actor: actorOf(visit) });
  return redirect(visit, `${pathOfWebhook(webhook)}#webhook`, 'webhook-enabled');
};

/** Removes a webhook. */
export const remove: Handler = async ({ db, redirect }, visit, params) => {
  const webhook = await loadNamedWebhook(db, params);
  await removeWebhook(db, webhook.id, { actor: actorOf(visit) });
  return redirect(visit, `${pathOfTab('webhooks')}#webhooks`, 'webhook-removed');
};

function noticeOf(delivery: Pick<Delivery, 'status'>): NoticeKey {
  return isDelivered(delivery) ? 'webhook-delivered' : 'webhook-not-delivered';
}

function actorOf({ user }: MemberVisit) {
  return { userId: user.id };
}

/** Loads the webhook whose id is a parameter of the path. @throws {NotFound} */
async function loadNamedWebhook(db: Db, params: Record<string, string>): Promise<Webhook> {
  return loadWebhook(db, parseRowId(params.id, 'webhook'));
}
