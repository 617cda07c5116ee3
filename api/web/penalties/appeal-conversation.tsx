import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { RequestDb, Tx } from '../../../src/db/client.ts';
import {
  APPEAL_LENGTH,
  type AppealEnding,
  AppealRefused,
  isOfPlayer,
  MESSAGE_LENGTH,
  MessageRefused,
} from '../../../src/domain/appeal.ts';
import { WrongLength } from '../../../src/domain/text/written-text.ts';
import type { Appeal, AppealMessage } from '../../../src/queries/appeals/appeals.ts';
import { ProblemLine } from '../layout/card.tsx';
import { CopyButton } from '../layout/copy-button.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { enteredIn } from '../layout/post-form.tsx';
import { type NoticeKey, textsOf } from '../locales/texts.ts';
import { PlayerLink } from '../moderation/player-link.tsx';
import { submitOnce } from '../request/forms/form.ts';
import type { Redirect } from '../request/notice.ts';
import { PageError } from '../request/page-error.ts';
import type { UserVisit } from '../request/visit.ts';

type Side = {
  /** Staff see the names of authors; players do not. */
  isForStaff: boolean;
  visit: UserVisit;
};

type ConversationProps = Side & { appeal: Appeal; messages: readonly AppealMessage[] };

/** What was written in an appeal, and what became of it, oldest first. */
export function Conversation({ appeal, messages, isForStaff, visit }: ConversationProps): JSX.Element {
  const { appeals: t, notices } = textsOf(visit.language);
  const authorOf = ({ kind, author }: AppealMessage) => {
    if (isOfPlayer(kind)) return isForStaff ? t.player : t.you;
    return isForStaff && author ? <PlayerLink {...author} visit={visit} /> : t.staff;
  };
  const endOf = (state: Appeal['state'], ending: AppealEnding) => {
    if (ending === 'withdrawn') return isForStaff ? t.withdrawn : notices['appeal-withdrawn'];
    return (state === 'closed' ? t.closings : t.outcomes)[ending];
  };
  return (
    <ol class="conversation">
      {messages.map((message) => (
        <li
          class={`message message-${isOfPlayer(message.kind) ? 'player' : 'staff'} message-${message.kind}`}
        >
          <p class="message-head">
            <strong>{t.kinds[message.kind]}</strong> · {authorOf(message)} ·{' '}
            <FullMoment at={message.createdAt} visit={visit} />
          </p>
          <p class="note-text" dir="auto">
            {message.text}
          </p>
        </li>
      ))}
      {appeal.ending !== null && (
        <li class="message message-closed">
          <p class="message-head">
            {appeal.state === 'closed' && appeal.decidedAt ? (
              <>
                <strong>{t.states.closed}</strong> · <FullMoment at={appeal.decidedAt} visit={visit} />
              </>
            ) : (
              <strong>{stateOf(appeal, { isForStaff, visit })}</strong>
            )}
          </p>
          <p class="note-text">{endOf(appeal.state, appeal.ending)}</p>
        </li>
      )}
    </ol>
  );
}

/** `Accepted, not lifted yet` */
export function stateOf(appeal: Appeal, { isForStaff, visit }: Side): string {
  const t = textsOf(visit.language).appeals;
  const { state, ending, waitsFor } = appeal;
  if (waitsFor === 'player') return isForStaff ? t.waitsForPlayer : t.waitsForYou;
  if (waitsFor === 'lift') return `${t.states.accepted}, ${t.notCarriedOut}`;
  if (state !== 'accepted' || ending === null) return t.states[state];
  return `${t.states.accepted}, ${ending === 'expired' ? t.endedByItself : t.carriedOut}`;
}

/** The state as a coloured mark. */
export function AppealState({ appeal, ...side }: Side & { appeal: Appeal }): JSX.Element {
  return <span class={`state state-${appeal.waitsFor ?? appeal.state}`}>{stateOf(appeal, side)}</span>;
}

type MessageFieldProps = {
  /** The path that its form posts to. */
  action: string;
  label: string;
  hint?: Child;
  limits: { minimum: number; maximum: number };
  visit: UserVisit;
};

/** The field for a message. Its length is checked when it is sent, in code points, which browsers do not count. */
export function MessageField({ action, label, hint, limits, visit }: MessageFieldProps): JSX.Element {
  const t = textsOf(visit.language).appeals;
  return (
    <div class="field">
      <label for="message">{label}</label>
      <textarea id="message" name="text" rows={6} required aria-describedby="message-hint">
        {enteredIn(visit, action, 'text')}
      </textarea>
      <p class="hint" id="message-hint">
        {t.length(limits.minimum, limits.maximum)} {hint}
      </p>
    </div>
  );
}

/** Why a message came too late, and its text to copy; null if there is no such message. */
export function UnsentMessage({ visit }: { visit: UserVisit }): JSX.Element | null {
  const t = textsOf(visit.language).appeals;
  const text = visit.form.get('text');
  if (visit.problem === undefined) return null;
  return (
    <>
      <ProblemLine message={visit.problem} />
      {text !== undefined && (
        <div class="field unsent">
          <label for="unsent">{t.unsent}</label>
          <textarea id="unsent" rows={6} readonly>
            {text}
          </textarea>
          <p class="row">
            <CopyButton target="unsent" label={t.unsent} visit={visit} />
          </p>
        </div>
      )}
    </>
  );
}

type Sent = { path: string; notice: NoticeKey | (() => Promise<NoticeKey>) };

/**
 * Carries out a form of an appeal, only once if it is sent repeatedly, and redirects to where `work` says. If the
 * notice is a function, it runs after the transaction.
 * @param options.otherwise where to redirect when the form was sent before, or no appeal can be opened.
 * @throws {PageError} 400 for a text that is too short or too long, 409 for a message that came too late.
 */
export async function submitAppealForm(
  { db, redirect }: { db: RequestDb; redirect: Redirect },
  visit: UserVisit,
  {
    otherwise,
    work,
  }: {
    otherwise: string;
    work: (tx: Tx, writing: { text: string; userId: number; now: Date }) => Promise<Sent>;
  },
): Promise<Response> {
  const { form, user, now } = visit;
  try {
    const text = form.get('text') ?? '';
    const sent = await submitOnce(db, visit, (tx) => work(tx, { text, userId: user.id, now }));
    if (!sent) return redirect(visit, otherwise);
    const { path, notice } = sent;
    return redirect(visit, path, typeof notice === 'string' ? notice : await notice());
  } catch (error) {
    if (error instanceof WrongLength) {
      const key = error.limits.minimum === APPEAL_LENGTH.minimum ? 'appeal-text' : 'appeal-message';
      throw new PageError(key, 400, { limit: MESSAGE_LENGTH.maximum, cause: error });
    }
    if (error instanceof AppealRefused) return redirect(visit, otherwise, `appeal-${error.reason}`);
    if (!(error instanceof MessageRefused)) throw error;
    throw new PageError(`appeal-${error.reason}`, 409, { isCorrectable: true, cause: error });
  }
}
