import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { isDatabaseOutage } from '../../src/db/client.ts';
import { Unavailable } from '../../src/domain/errors.ts';
import { TimeLimitExceeded } from '../../src/runtime/time-limit.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message.ts';
import type { Texts } from '../locales/en.ts';

/**
 * The message to the invoker when a response failed: an apology and an error id, which is also in the log. The message
 * reveals nothing of the error itself.
 * @param name the command or component, for the log.
 */
export function failureNotice(
  error: unknown,
  { name, texts: { refusals }, log }: { name: string; texts: Texts; log: Logger },
): MessageView {
  const errorId = randomBytes(4).toString('hex');
  const fields = { err: error, errorId, interaction: name };
  if (isTemporary(error)) {
    log.warn(fields, 'a response needs the database or a service that is unreachable');
    return noticeMessage(refusals.unavailable(errorId), COLOURS.danger);
  }
  log.error(fields, 'a response failed');
  return noticeMessage(refusals.failed(errorId), COLOURS.danger);
}

function isTemporary(error: unknown): boolean {
  return error instanceof Unavailable || error instanceof TimeLimitExceeded || isDatabaseOutage(error);
}
