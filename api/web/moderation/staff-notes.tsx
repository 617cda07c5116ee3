import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { RequestDb } from '../../../src/db/client.ts';
import { InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import { UNKNOWN_STEAM_ID } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import { findPenalty } from '../../../src/queries/penalties/row.ts';
import {
  addStaffNote,
  deleteStaffNote,
  listStaffNotes,
  MAX_NOTE_LENGTH,
  mayDeleteNote,
  type NoteSubject,
  type StaffNote,
} from '../../../src/queries/staff-notes.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { FullMoment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { enteredIn, PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { submitOnce } from '../request/forms/form.ts';
import { parsePenaltyId, parseRowId, tryParseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { UserVisit } from '../request/visit.ts';
import { type Handler, pathOfPenalty } from './frame.tsx';
import { PlayerLink, parsePlayerId } from './player-link.tsx';

const PAGE_PARAMETER = 'notes';
const NOTES_PER_PAGE = 20;

type NotesProps = {
  db: RequestDb;
  subject: NoteSubject;
  /** The path of the page, below which the forms of notes are. */
  path: string;
  visit: UserVisit;
};

/** A page of the notes about a player, or about one of their penalties, and the form for a new one. */
export async function NotesCard({ db, subject, path, visit }: NotesProps): Promise<HtmlEscapedString> {
  const page = tryParseRowId(visit.url.searchParams.get(PAGE_PARAMETER)) ?? 1;
  const { notes, total } = await listStaffNotes(db, subject, { page, perPage: NOTES_PER_PAGE });
  const t = textsOf(visit.language).records.notes;
  const action = `${path}/notes#notes`;
  return (
    <Card id="notes" title={t.title} icon="info" notice={visit.notice}>
      {notes.length === 0 ? (
        <p class="empty">{t.none}</p>
      ) : (
        <ul class="notes">
          {notes.map((note) => (
            <Note note={note} subject={subject} path={path} visit={visit} />
          ))}
        </ul>
      )}
      <PagesNav
        visit={visit}
        page={page}
        lastPage={Math.ceil(total / NOTES_PER_PAGE)}
        parameter={PAGE_PARAMETER}
        path={path}
        card="notes"
      />
      <PostForm visit={visit} action={action} isSentOnce class="create create-stacked">
        <div class="field">
          <label for="note">{t.newNote}</label>
          <textarea id="note" name="text" rows={4} required aria-describedby="note-hint">
            {enteredIn(visit, action, 'text')}
          </textarea>
          <p class="hint" id="note-hint">
            {t.hint(MAX_NOTE_LENGTH)}
          </p>
        </div>
        <button class="button button-primary" type="submit">
          {t.add}
        </button>
      </PostForm>
    </Card>
  );
}

type NoteProps = Omit<NotesProps, 'db'> & { note: StaffNote };

function Note({ note, subject, path, visit }: NoteProps): JSX.Element {
  const { records, moderation, roundSound } = textsOf(visit.language);
  const { notes: t } = records;
  return (
    <li>
      <p class="hint">
        {note.author ? (
          <PlayerLink {...note.author} visit={visit} />
        ) : (
          <span>{moderation.actors.member}</span>
        )}{' '}
        · <FullMoment at={note.createdAt} visit={visit} />
        {note.penaltyId !== null && subject.penaltyId === undefined && (
          <>
            {' · '}
            <a href={pathOfPenalty({ id: note.penaltyId })}>#{note.penaltyId}</a>
          </>
        )}
      </p>
      <p class="note-text" dir="auto">
        {linkAddresses(note.text)}
      </p>
      {mayDeleteNote(visit.user, note) && (
        <ConfirmButton
          visit={visit}
          action={`${path}/notes/${note.id}/delete`}
          label={roundSound.remove}
          fullLabel={t.deleteNumbered(note.id)}
          title={t.deleteTitle}
          lead={isolate(beginningOf(note.text))}
        />
      )}
    </li>
  );
}

/** The beginning of a note, which tells which one is to be deleted. */
function beginningOf(text: string): string {
  const characters = [...text.replace(/\s+/g, ' ')];
  return characters.length > 200 ? `${characters.slice(0, 200).join('')}…` : characters.join('');
}

/**
 * A text with its `https` addresses as links. One with a user name is none: it could pretend to lead elsewhere.
 */
function linkAddresses(text: string): Child[] {
  return text.split(/(https:\/\/[^\s<>"]*[^\s<>".,;:!?)\]}'])/u).map((part, index) => {
    const url = index % 2 === 1 ? URL.parse(part) : null;
    if (url === null || url.username !== '' || url.password !== '') return part;
    return (
      <a href={url.href} rel="nofollow noopener noreferrer">
        {part}
      </a>
    );
  });
}

type FindSubject = (...request: Parameters<Handler>) => Promise<NoteSubject>;

/**
 * The handlers of the forms of {@link NotesCard}: adding a note, which is refused with 400 for an empty or too long text, and
 * deleting one.
 * @param findSubject whom or what a new note is about.
 */
export function notesOf(findSubject: FindSubject): { add: Handler; remove: Handler } {
  const placeOf = ({ url }: UserVisit) => `${url.pathname.replace(/\/notes(?:\/.*)?$/, '')}#notes`;
  return {
    add: async (deps, visit, params) => {
      const { form, now, user } = visit;
      const text = form.get('text') ?? '';
      const subject = await findSubject(deps, visit, params);
      // Sent again, the note is there already.
      await submitOnce(deps.db, visit, (tx) =>
        addStaffNote(tx, { ...subject, text, now, authorUserId: user.id }),
      ).catch((error: unknown) => {
        if (!(error instanceof InvalidInput)) throw error;
        throw new PageError('note-text', 400, { limit: MAX_NOTE_LENGTH, cause: error });
      });
      return deps.redirect(visit, placeOf(visit), 'note-added');
    },
    remove: async (deps, visit, params) => {
      const note = { ...(await findSubject(deps, visit, params)), id: parseRowId(params.note, 'note') };
      await deleteStaffNote(deps.db, note, { userId: visit.user.id });
      return deps.redirect(visit, placeOf(visit), 'note-deleted');
    },
  };
}

export const playerNotes = notesOf(async (_deps, _visit, { steamid64 }) => ({
  steamId64: parsePlayerId(steamid64),
}));

/** Of a penalty. @throws {NotFound} for a penalty of an unknown player, too. */
export const penaltyNotes = notesOf(async ({ db }, { now }, { id }) => {
  const penaltyId = parsePenaltyId(id);
  const details = await findPenalty(db, penaltyId, now);
  const steamId64 = details?.penalty.playerSteamId ?? UNKNOWN_STEAM_ID;
  if (steamId64 === UNKNOWN_STEAM_ID) throw new NotFound('no such penalty of a known player');
  return { steamId64, penaltyId };
});
