import type { JSX } from 'hono/jsx/jsx-runtime';
import { type Delivery, isDelivered, KEPT_DELIVERIES, TEST_TYPE } from '../../../../src/domain/webhook.ts';
import { listDeliveries } from '../../../../src/queries/webhooks/webhook-deliveries.ts';
import type { Webhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { Card } from '../../layout/card.tsx';
import { ConfirmLink } from '../../layout/confirm.tsx';
import { CsrfField } from '../../layout/csrf-field.tsx';
import { ListTable } from '../../layout/list-table.tsx';
import { textsOf } from '../../layout/locales/texts.ts';
import { FullMoment } from '../../layout/moment.tsx';
import { respondWithPage } from '../../request/page-response.ts';
import type { MemberVisit } from '../../request/visit.ts';
import { Frame } from '../frame.tsx';
import { loadNamedWebhook, pathOfWebhook, WEBHOOKS, type WebhooksDeps } from './webhook-deps.ts';
import { WebhookState, WebhookTypes } from './webhook-facts.tsx';

/** The page of one webhook: its state, its latest deliveries, and its actions. */
export async function showWebhook(
  { db, site, readNotice }: WebhooksDeps,
  visit: MemberVisit,
  id: string | undefined,
): Promise<Response> {
  const t = textsOf(visit.locale).webhooks;
  const webhook = await loadNamedWebhook(db, id);
  const deliveries = await listDeliveries(db, webhook.id);
  const notice = readNotice(visit);
  return respondWithPage(
    <Frame
      site={site}
      visit={visit}
      notice={notice}
      cards={['webhook', 'deliveries']}
      tab="webhooks"
      title={t.titleOf(webhook.id)}
    >
      <p>
        <a href={WEBHOOKS}>← {t.back}</a>
      </p>
      <Card id="webhook" title={t.titleOf(webhook.id)} icon="link" notice={notice}>
        <Facts webhook={webhook} visit={visit} />
        <Actions webhook={webhook} visit={visit} />
      </Card>
      <Card id="deliveries" title={t.deliveries} icon="info" notice={notice}>
        <p class="hint">{t.kept(KEPT_DELIVERIES)}</p>
        {deliveries.length === 0 ? (
          <p class="empty">{t.noDeliveries}</p>
        ) : (
          <DeliveryTable webhook={webhook} deliveries={deliveries} visit={visit} />
        )}
      </Card>
    </Frame>,
  );
}

type WebhookProps = { webhook: Webhook; visit: MemberVisit };

function Facts({ webhook, visit }: WebhookProps): JSX.Element {
  const { columns } = textsOf(visit.locale).webhooks;
  return (
    <dl class="facts">
      <dt>{columns.url}</dt>
      <dd class="list-words">
        <bdi>{webhook.url}</bdi>
      </dd>
      <dt>{columns.types}</dt>
      <dd>
        <WebhookTypes webhook={webhook} visit={visit} />
      </dd>
      <dt>{columns.state}</dt>
      <dd>
        <WebhookState webhook={webhook} visit={visit} />
      </dd>
      <dt>{columns.added}</dt>
      <dd>
        <FullMoment at={webhook.createdAt} locale={visit.locale} />
      </dd>
    </dl>
  );
}

function Actions({ webhook, visit }: WebhookProps): JSX.Element {
  const t = textsOf(visit.locale).webhooks;
  const path = pathOfWebhook(webhook);
  const { switchedOffAt, failures } = webhook;
  return (
    <div class="row">
      <form method="post" action={`${path}/test`}>
        <CsrfField visit={visit} />
        <button class="button button-quiet" type="submit">
          {t.test}
        </button>
      </form>
      {(switchedOffAt !== null || failures > 0) && (
        <form method="post" action={`${path}/enable`}>
          <CsrfField visit={visit} />
          <button class="button button-primary" type="submit">
            {switchedOffAt === null ? t.retry : t.enable}
          </button>
        </form>
      )}
      <ConfirmLink
        href={`${path}/remove`}
        label={t.remove}
        title={t.removeTitle}
        lead={t.removeLead(webhook.url)}
        visit={visit}
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
            type !== TEST_TYPE && <ResendForm webhook={webhook} messageId={messageId} visit={visit} />,
          'list-action',
        ],
      ]}
    />
  );
}

function ResendForm({ webhook, messageId, visit }: WebhookProps & { messageId: string }): JSX.Element {
  const t = textsOf(visit.locale).webhooks;
  return (
    <form method="post" action={`${pathOfWebhook(webhook)}/resend`}>
      <CsrfField visit={visit} />
      <input type="hidden" name="message_id" value={messageId} />
      <button class="button button-quiet button-small" type="submit" aria-label={t.resendNamed(messageId)}>
        {t.resend}
      </button>
    </form>
  );
}
