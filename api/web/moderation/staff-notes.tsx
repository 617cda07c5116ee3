import type { JSX } from 'hono/jsx/jsx-runtime';
import type { Db } from '../../../src/db/client.ts';
import { Forbidden, InvalidInput, NotFound } from '../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { isolate } from '../../../src/domain/text/isolate.ts';
import {
  addStaffNote,
  deleteStaffNote,
  findStaffNote,
  listStaffNotes,
  MAX_NOTE_LENGTH,
  mayDeleteNote,
  type StaffNote,
} from '../../../src/queries/staff-notes.ts';
import { Card, ProblemLine } from '../layout/card.tsx';
import { ConfirmLink, ConfirmPage } from '../layout/confirm.tsx';
import { CsrfField } from '../layout/csrf-field.tsx';
import type { Site } from '../layout/layout.tsx';
import { textsOf } from '../layout/locales/texts.ts';
import { FullMoment } from '../layout/moment.tsx';
import { PagesNav } from '../layout/pages-nav.tsx';
import { claimForm, FORM_ID_FIELD } from '../request/forms/form-id.ts';
import { type FormProblem, withFormShownAgain } from '../request/forms/form-problem.ts';
import type { MemberRoute } from '../request/member-route.ts';
import type { Notice, Redirect } from '../request/notice.ts';
import { tryParseRowId } from '../request/numbers.ts';
import { PageError } from '../request/page-error.ts';
import { respondWithPage } from '../request/page-response.ts';
import type { MemberVisit } from '../request/visit.ts';
import { parsePlayerId, pathOfPlayer } from './find-user.ts';
import { PlayerLink } from './player-link.tsx';

export type NotesDeps = {
  db: Db;
  site: Site;
  redirect: Redirect;
  /** The player's record, with the form as it was sent. */
  showAgain: (visit: MemberVisit, steamId64: SteamId64, problem: FormProblem) => Promise<JSX.Element>;
};

const PAGE_PARAMETER = 'notes';
const NOTES_PER_PAGE = 20;

/** Routes that add and delete notes about a player. */
export function noteRoutes(deps: NotesDeps): MemberRoute[] {
  const path = '/moderation/users/:steamid64/notes';
  return [
    { method: 'POST', path, handle: (visit, { steamid64 }) => add(deps, visit, steamid64) },
    {
      method: 'GET',
      path: `${path}/:id/delete`,
      handle: (visit, { steamid64, id }) => confirmDeletion(deps, visit, { steamid64, id }),
    },
    {
      method: 'POST',
      path: `${path}/:id/delete`,
      handle: (visit, { steamid64, id }) => remove(deps, visit, { steamid64, id }),
    },
  ];
}

/** One page of the notes about a player. */
export type NotesPage = { notes: StaffNote[]; page: number; lastPage: number };

/** Loads the page of notes that the query selects. */
export async function readNotesPage(db: Db, steamId64: SteamId64, { url }: MemberVisit): Promise<NotesPage> {
  const page = tryParseRowId(url.searchParams.get(PAGE_PARAMETER)) ?? 1;
  const { notes, total } = await listStaffNotes(db, steamId64, { page, perPage: NOTES_PER_PAGE });
  return { notes, page, lastPage: Math.max(1, Math.ceil(total / NOTES_PER_PAGE)) };
}

type NotesProps = {
  steamId64: SteamId64;
  notes: NotesPage;
  visit: MemberVisit;
  notice: Notice | undefined;
  /** Why the form was refused; the form is then shown again with its values. */
  problem: FormProblem | undefined;
};

/** The notes about a player and the form for a new one. */
export function NotesCard({ steamId64, notes, visit, notice, problem }: NotesProps): JSX.Element {
  const t = textsOf(visit.locale).records.notes;
  const path = pathOfPlayer({ steamId64 });
  return (
    <Card id="notes" title={t.title} icon="info" notice={notice}>
      {notes.notes.length === 0 ? (
        <p class="empty">{t.none}</p>
      ) : (
        <ul class="notes">
          {notes.notes.map((note) => (
            <Note note={note} path={path} visit={visit} />
          ))}
        </ul>
      )}
      <PagesNav
        visit={visit}
        page={notes.page}
        lastPage={notes.lastPage}
        addressOf={(page) => `${path}?${PAGE_PARAMETER}=${page}#notes`}
      />
      <form method="post" action={`${path}/notes#notes`} class="create create-stacked">
        {problem && <ProblemLine message={problem.message} />}
        <CsrfField visit={visit} />
        <input type="hidden" name={FORM_ID_FIELD} value={crypto.randomUUID()} />
        <div class="field">
          <label for="note">{t.newNote}</label>
          <textarea id="note" name="text" rows={4} required aria-describedby="note-hint">
            {problem?.values.get('text')}
          </textarea>
          <p class="hint" id="note-hint">
            {t.hint(MAX_NOTE_LENGTH)}
          </p>
        </div>
        <button class="button button-primary" type="submit">
          {t.add}
        </button>
      </form>
    </Card>
  );
}

type NoteProps = { note: StaffNote; path: string; visit: MemberVisit };

function Note({ note, path, visit }: NoteProps): JSX.Element {
  const { records, moderation } = textsOf(visit.locale);
  const { notes: t } = records;
  return (
    <li>
      <p class="hint">
        {note.author ? (
          <PlayerLink {...note.author} visit={visit} />
        ) : (
          <span>{moderation.actors.member}</span>
        )}{' '}
        · <FullMoment at={note.createdAt} locale={visit.locale} />
      </p>
      <p class="note-text" dir="auto">
        {note.text}
      </p>
      {mayDeleteNote(visit.user, note) && (
        <ConfirmLink
          href={`${path}/notes/${note.id}/delete`}
          label={t.delete}
          fullLabel={t.deleteNumbered(note.id)}
          title={t.deleteTitle}
          lead={leadOf(note)}
          visit={visit}
        />
      )}
    </li>
  );
}

/** The beginning of a note, which tells which one is deleted. */
function leadOf({ text }: { text: string }): string {
  const words = [...text.replace(/\s+/g, ' ')];
  return isolate(words.length > 200 ? `${words.slice(0, 200).join('')}…` : words.join(''));
}

async function add(deps: NotesDeps, visit: MemberVisit, id: string | undefined): Promise<Response> {
  const steamId64 = parsePlayerId(id);
  const { form, now, user } = visit;
  const show = (problem: FormProblem) => deps.showAgain(visit, steamId64, problem);
  return withFormShownAgain(visit, { values: form, show }, async () => {
    const text = form.get('text') ?? '';
    await deps.db
      .transaction(async (tx) => {
        // Sent again, for example by a reload: the note is there already.
        if (!(await claimForm(tx, form, visit))) return;
        await addStaffNote(tx, { steamId64, text, now, authorUserId: user.id });
      })
      .catch((error: unknown) => {
        if (!(error instanceof InvalidInput)) throw error;
        throw new PageError('note-text', 400, { limit: MAX_NOTE_LENGTH, cause: error });
      });
    return deps.redirect(visit, `${pathOfPlayer({ steamId64 })}#notes`, 'note-added');
  });
}

type NotePath = { steamid64: string | undefined; id: string | undefined };

async function confirmDeletion(deps: NotesDeps, visit: MemberVisit, path: NotePath): Promise<Response> {
  const place = parseNotePath(path);
  const back = `${pathOfPlayer(place)}#notes`;
  const note = await findStaffNote(deps.db, place);
  if (!note) return deps.redirect(visit, back, 'note-deleted');
  if (!mayDeleteNote(visit.user, note)) throw new Forbidden('the note of somebody else');
  const t = textsOf(visit.locale).records.notes;
  return respondWithPage(
    <ConfirmPage
      site={deps.site}
      visit={visit}
      title={t.deleteTitle}
      lead={leadOf(note)}
      label={t.delete}
      back={back}
    />,
  );
}

async function remove(deps: NotesDeps, visit: MemberVisit, path: NotePath): Promise<Response> {
  const place = parseNotePath(path);
  await deleteStaffNote(deps.db, place, { userId: visit.user.id });
  return deps.redirect(visit, `${pathOfPlayer(place)}#notes`, 'note-deleted');
}

/** @throws {NotFound} */
function parseNotePath({ steamid64, id }: NotePath): { steamId64: SteamId64; id: number } {
  const noteId = tryParseRowId(id ?? null);
  if (noteId === undefined) throw new NotFound('no such note');
  return { steamId64: parsePlayerId(steamid64), id: noteId };
}
