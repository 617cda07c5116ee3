import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import { inTransaction, type RequestDb } from '../../../src/db/client.ts';
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
import { PostForm } from '../layout/post-form.tsx';
import { textsOf } from '../locales/texts.ts';
import { claimForm } from '../request/forms/form.ts';
import { parseRowId, tryParsePositive, tryParseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';
import { type Handler, pathOfPenalty } from './frame.tsx';
import { PlayerLink, parsePlayerId, pathOfPlayer } from './player-link.tsx';

const PAGE_PARAMETER = 'notes';
const NOTES_PER_PAGE = 20;

type NotesProps = { db: RequestDb; subject: NoteSubject; visit: MemberVisit };

/** The path of the page that shows notes. */
function pathOfSubject({ steamId64, penaltyId }: NoteSubject): string {
  return penaltyId === undefined ? pathOfPlayer({ steamId64 }) : pathOfPenalty({ id: penaltyId });
}

/** A page of the notes about a player, or about one of their penalties, and the form for a new one. */
export async function NotesCard({ db, subject, visit }: NotesProps): Promise<HtmlEscapedString> {
  const page = tryParseRowId(visit.url.searchParams.get(PAGE_PARAMETER)) ?? 1;
  const { notes, total } = await listStaffNotes(db, subject, { page, perPage: NOTES_PER_PAGE });
  const t = textsOf(visit.locale).records.notes;
  const path = pathOfSubject(subject);
  return (
    <Card id="notes" title={t.title} icon="info" notice={visit.notice}>
      {notes.length === 0 ? (
        <p class="empty">{t.none}</p>
      ) : (
        <ul class="notes">
          {notes.map((note) => (
            <Note note={note} subject={subject} visit={visit} />
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
      <PostForm visit={visit} action={`${path}/notes#notes`} isSentOnce class="create create-stacked">
        <div class="field">
          <label for="note">{t.newNote}</label>
          <textarea id="note" name="text" rows={4} required aria-describedby="note-hint">
            {visit.form.get('text')}
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

type NoteProps = { note: StaffNote; subject: NoteSubject; visit: MemberVisit };

function Note({ note, subject, visit }: NoteProps): JSX.Element {
  const path = pathOfSubject(subject);
  const { records, moderation, roundSound } = textsOf(visit.locale);
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

/** Adds a note about a player. @throws {PageError} 400 for an empty or too long text. */
export const addNote: Handler = (deps, visit, { steamid64 }) =>
  saveNote(deps, visit, { steamId64: parsePlayerId(steamid64) });

/** Adds a note about a penalty. @throws {PageError} 400 for an empty or too long text. */
export const addPenaltyNote: Handler = async (deps, visit, { id }) =>
  saveNote(deps, visit, await findSubject(deps.db, id, visit));

/** The penalty of a path and its player. @throws {NotFound} for a penalty of an unknown player, too. */
async function findSubject(
  db: RequestDb,
  id: string | undefined,
  { now }: MemberVisit,
): Promise<NoteSubject> {
  const penaltyId = tryParsePositive(id ?? null);
  const details = penaltyId === undefined ? undefined : await findPenalty(db, penaltyId, now);
  const steamId64 = details?.penalty.playerSteamId ?? UNKNOWN_STEAM_ID;
  if (steamId64 === UNKNOWN_STEAM_ID) throw new NotFound('no such penalty of a known player');
  return { steamId64, penaltyId };
}

async function saveNote(
  { db, redirect }: Parameters<Handler>[0],
  visit: MemberVisit,
  subject: NoteSubject,
): Promise<Response> {
  const { form, now, user } = visit;
  const text = form.get('text') ?? '';
  await inTransaction(db, async (tx) => {
    // Sent again, for example by a reload: the note is there already.
    if (!(await claimForm(tx, form, visit))) return;
    await addStaffNote(tx, { ...subject, text, now, authorUserId: user.id });
  }).catch((error: unknown) => {
    if (!(error instanceof InvalidInput)) throw error;
    throw new PageError('note-text', 400, { limit: MAX_NOTE_LENGTH, cause: error });
  });
  return redirect(visit, `${pathOfSubject(subject)}#notes`, 'note-added');
}

/** Deletes a note about a player. */
export const removeNote: Handler = (deps, visit, { steamid64, id }) =>
  deleteNote(deps, visit, { subject: { steamId64: parsePlayerId(steamid64) }, id });

/** Deletes a note about a penalty. */
export const removePenaltyNote: Handler = async (deps, visit, { id, note }) =>
  deleteNote(deps, visit, { subject: await findSubject(deps.db, id, visit), id: note });

async function deleteNote(
  { db, redirect }: Parameters<Handler>[0],
  visit: MemberVisit,
  { subject, id }: { subject: NoteSubject; id: string | undefined },
): Promise<Response> {
  const note = { ...subject, id: parseRowId(id, 'note') };
  await deleteStaffNote(db, note, { userId: visit.user.id });
  return redirect(visit, `${pathOfSubject(subject)}#notes`, 'note-deleted');
}
