import type { Db } from '../../../../src/db/client.ts';
import { NotFound } from '../../../../src/domain/errors.ts';
import type { WebhookActions } from '../../../../src/events/webhooks/actions.ts';
import { findWebhook, loadWebhook, type Webhook } from '../../../../src/queries/webhooks/webhooks.ts';
import type { Site } from '../../layout/layout.tsx';
import type { ReadNotice, Redirect } from '../../request/notice.ts';
import { tryParseRowId } from '../../request/numbers.ts';

export type WebhooksDeps = {
  db: Db;
  site: Site;
  redirect: Redirect;
  readNotice: ReadNotice;
  webhooks: WebhookActions;
};

export const WEBHOOKS = '/account/moderation/webhooks';

/** The path of a webhook's page. */
export function pathOfWebhook({ id }: Pick<Webhook, 'id'>): string {
  return `${WEBHOOKS}/${id}`;
}

/** Loads the webhook whose id is the parameter of a path. @throws {NotFound} */
export async function loadNamedWebhook(db: Db, text: string | undefined): Promise<Webhook> {
  const id = tryParseRowId(text ?? null);
  if (id === undefined) throw new NotFound('no such webhook');
  return loadWebhook(db, id);
}

/** Whether no webhook has the id in a path, which may never have existed. False for a text that is not an id. */
export async function isMissing(db: Db, text: string | undefined): Promise<boolean> {
  const id = tryParseRowId(text ?? null);
  return id !== undefined && (await findWebhook(db, id)) === undefined;
}
