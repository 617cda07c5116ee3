import type { JSX } from 'hono/jsx/jsx-runtime';
import type { HtmlEscapedString } from 'hono/utils/html';
import type { Db } from '../../../src/db/client.ts';
import { InvalidInput } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  addStaffNote,
  deleteStaffNote,
  listStaffNotes,
  MAX_NOTE_LENGTH,
  mayDeleteNote,
  type StaffNote,
} from '../../../src/queries/staff-notes.ts';
import { Card } from '../layout/card.tsx';
import { ConfirmButton } from '../layout/confirm-button.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { PostForm } from '../layout/post-form.tsx';
import { claimForm } from '../request/forms/form.ts';
import { parseRowId, tryParseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import type { MemberVisit } from '../request/visit.ts';
import type { Handler } from './frame.tsx';
import { PlayerLink, parsePlayerId, pathOfPlayer } from './player-link.tsx';

const PAGE_PARAMETER = 'notes';
const NOTES_PER_PAGE = 20;

type NotesProps = { db: Db; steamId64: SteamId64; visit: MemberVisit };

/** A page of the notes about a player and the form for a new one. */
export async function NotesCard({ db, steamId64, visit }: NotesProps): Promise<HtmlEscapedString> {
  const page = tryParseRowId(visit.url.searchParams.get(PAGE_PARAMETER)) ?? 1;
  const { notes, total } = await listStaffNotes(db, steamId64, { page, perPage: NOTES_PER_PAGE });
  const t = textsOf(visit.locale).records.notes;
  const path = pathOfPlayer({ steamId64 });
  return (
    <Card id="notes" title={t.title} icon="info" notice={visit.notice}>
      {notes.length === 0 ? (
        <p class="empty">{t.none}</p>
      ) : (
        <ul class="notes">
          {notes.map((note) => (
            <Note note={note} path={path} visit={visit} />
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

type NoteProps = { note: StaffNote; path: string; visit: MemberVisit };

function Note({ note, path, visit }: NoteProps): JSX.Element {
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
      </p>
      <p class="note-text" dir="auto">
        {note.text}
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

/** Adds a note about a player. @throws {PageError} 400 for an empty or too long text. */
export const addNote: Handler = async ({ db, redirect }, visit, { steamid64 }) => {
  const steamId64 = parsePlayerId(steamid64);
  const { form, now, user } = visit;
  const text = form.get('text') ?? '';
  await db
    .transaction(async (tx) => {
      // Sent again, for example by a reload: the note is there already.
      if (!(await claimForm(tx, form, visit))) return;
      await addStaffNote(tx, { steamId64, text, now, authorUserId: user.id });
    })
    .catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error;
      throw new PageError('note-text', 400, { limit: MAX_NOTE_LENGTH, cause: error });
    });
  return redirect(visit, `${pathOfPlayer({ steamId64 })}#notes`, 'note-added');
};

/** Deletes a note. */
export const removeNote: Handler = async ({ db, redirect }, visit, params) => {
  const place = parseNotePath(params);
  await deleteStaffNote(db, place, { userId: visit.user.id });
  return redirect(visit, `${pathOfPlayer(place)}#notes`, 'note-deleted');
};

/** @throws {NotFound} */
function parseNotePath({ steamid64, id }: Record<string, string>): { steamId64: SteamId64; id: number } {
  return { steamId64: parsePlayerId(steamid64), id: parseRowId(id, 'note') };
}
