import type { JSX } from 'hono/jsx/jsx-runtime';
import { inTransaction, type RequestDb, type Tx } from '../../../src/db/client.ts';
import {
  APPEAL_LENGTH,
  AppealRefused,
  isCarriedOut,
  isOfPlayer,
  MESSAGE_LENGTH,
  WrongLength,
} from '../../../src/domain/appeal.ts';
import type { Appeal, AppealMessage } from '../../../src/queries/appeals/appeals.ts';
import { FullMoment } from '../layout/moment.tsx';
import { textsOf } from '../locales/texts.ts';
import { PlayerLink } from '../moderation/player-link.tsx';
import { claimForm } from '../request/forms/form.ts';
import type { Redirect } from '../request/notice.ts';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';

type ConversationProps = {
  appeal: Appeal;
  messages: readonly AppealMessage[];
  /** For staff, who see which of them wrote. */
  isForStaff: boolean;
  visit: MemberVisit;
};

/** What was written in an appeal, oldest first. Players see no names of staff. */
export function Conversation({ appeal, messages, isForStaff, visit }: ConversationProps): JSX.Element {
  const t = textsOf(visit.locale).appeals;
  const authorOf = ({ kind, author }: AppealMessage) => {
    if (isOfPlayer(kind)) return isForStaff ? t.player : t.you;
    return isForStaff && author ? <PlayerLink {...author} visit={visit} /> : t.staff;
  };
  return (
    <ul class="notes">
      {messages.map((message) => (
        <li>
          <p class="hint">
            {authorOf(message)} · {t.kinds[message.kind]} ·{' '}
            <FullMoment at={message.createdAt} visit={visit} />
          </p>
          <p class="note-text" dir="auto">
            {message.text}
          </p>
        </li>
      ))}
      {appeal.state === 'closed' && appeal.decidedAt && (
        <li>
          <p class="hint">
            {t.states.closed} · <FullMoment at={appeal.decidedAt} visit={visit} />
          </p>
          <p>{t.closedLead}</p>
        </li>
      )}
    </ul>
  );
}

/** `Accepted, carried out` */
export function stateOf(appeal: Appeal, { locale }: Pick<MemberVisit, 'locale'>): string {
  const t = textsOf(locale).appeals;
  if (isCarriedOut(appeal)) return `${t.states.accepted}, ${t.carriedOut}`;
  return appeal.waitsFor === 'lift' ? `${t.states.accepted}, ${t.notCarriedOut}` : t.states[appeal.state];
}

/** The state as a coloured mark. */
export function AppealState({
  appeal,
  visit,
}: {
  appeal: Appeal;
  visit: Pick<MemberVisit, 'locale'>;
}): JSX.Element {
  return <span class={`state state-${appeal.waitsFor ?? appeal.state}`}>{stateOf(appeal, visit)}</span>;
}

type MessageFieldProps = {
  label: string;
  hint?: string;
  limits: { minimum: number; maximum: number };
  visit: MemberVisit;
};

/** The field for a message. Its length is checked when it is sent, in code points, which browsers do not count. */
export function MessageField({ label, hint, limits, visit }: MessageFieldProps): JSX.Element {
  const t = textsOf(visit.locale).appeals;
  return (
    <div class="field">
      <label for="message">{label}</label>
      <textarea id="message" name="text" rows={6} required aria-describedby="message-hint">
        {visit.form.get('text')}
      </textarea>
      <p class="hint" id="message-hint">
        {t.length(limits.minimum, limits.maximum)} {hint}
      </p>
    </div>
  );
}

/**
 * Carries out a form of an appeal, once however often it is sent, and redirects to the appeal. What is no longer possible
 * changes nothing, and a notice there says why.
 * @param work returns the id of the appeal.
 * @throws {PageError} 400 for a text that is too short or too long.
 */
export async function submitAppealForm(
  { db, redirect }: { db: RequestDb; redirect: Redirect },
  visit: MemberVisit,
  {
    pathOf,
    otherwise,
    work,
  }: {
    /** The path of the appeal. */
    pathOf: (id: number) => string;
    /** Where to redirect when there is no appeal. */
    otherwise: string;
    work: (tx: Tx, writing: { text: string; userId: number; now: Date }) => Promise<number>;
  },
): Promise<Response> {
  const { form, user, now } = visit;
  try {
    const id = await inTransaction(db, async (tx) => {
      if (!(await claimForm(tx, form, visit))) return undefined;
      return work(tx, { text: form.get('text') ?? '', userId: user.id, now });
    });
    return id === undefined ? redirect(visit, otherwise) : redirect(visit, pathOf(id), 'appeal-sent');
  } catch (error) {
    if (error instanceof AppealRefused) return redirect(visit, otherwise, `appeal-${error.reason}`);
    if (!(error instanceof WrongLength)) throw error;
    const key = error.limits.minimum === APPEAL_LENGTH.minimum ? 'appeal-text' : 'appeal-message';
    throw new PageError(key, 400, { limit: MESSAGE_LENGTH.maximum, cause: error });
  }
}
