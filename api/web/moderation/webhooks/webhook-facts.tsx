import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Webhook } from '../../../../src/queries/webhooks/webhooks.ts';
import { formatInstant } from '../../layout/locales/locale.ts';
import { textsOf } from '../../layout/locales/texts.ts';
import type { MemberVisit } from '../../request/visit.ts';

type FactProps = { webhook: Webhook; visit: MemberVisit };

/** The event types that a webhook receives. */
export function WebhookTypes({ webhook, visit }: FactProps): JSX.Element {
  if (webhook.types === null) return <span>{textsOf(visit.locale).webhooks.allTypes}</span>;
  return <code>{webhook.types.join(', ')}</code>;
}

/** Whether a webhook is enabled, failing or disabled, with the next attempt or the reason. */
export function WebhookState({ webhook, visit }: FactProps): JSX.Element {
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
