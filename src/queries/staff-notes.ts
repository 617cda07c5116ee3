import { and, desc, eq, getTableColumns, type SQL } from 'drizzle-orm';
import { type Db, inTransaction, type Tx } from '../db/client.ts';
import { staffNotes, users } from '../db/schema/accounts.ts';
import { Forbidden, NotFound } from '../domain/errors.ts';
import { isAdministrator, mayReadRecords } from '../domain/rights/administrator.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import { parseWrittenText } from '../domain/text/written-text.ts';
import { recordAudit } from './audit-log.ts';
import { holdOffErasures, listErased } from './personal-data/tombstones.ts';
import { lockActingUser, type User } from './users/users.ts';

export const MAX_NOTE_LENGTH = 2000;

/** The author is null when their account was deleted. */
export type StaffNote = Omit<typeof staffNotes.$inferSelect, 'steamId64'> & {
  author: { steamId64: SteamId64; nickname: string } | null;
};

/** Whom a note is about, and the penalty of theirs that it belongs to, if any. */
export type NoteSubject = { steamId64: SteamId64; penaltyId?: number | undefined };

/** A page of the notes about a player, or about one of their penalties, newest first. @param page from 1. */
export async function listStaffNotes(
  db: Db,
  { steamId64, penaltyId }: NoteSubject,
  { page, perPage }: { page: number; perPage: number },
): Promise<{ notes: StaffNote[]; total: number }> {
  const { steamId64: _, ...columns } = getTableColumns(staffNotes);
  const isAboutPlayer = isAbout({ steamId64, penaltyId });
  const [total, notes] = await Promise.all([
    db.$count(staffNotes, isAboutPlayer),
    db
      .select({ ...columns, author: { steamId64: users.steamId64, nickname: users.nickname } })
      .from(staffNotes)
      .leftJoin(users, eq(users.id, staffNotes.authorUserId))
      .where(isAboutPlayer)
      .orderBy(desc(staffNotes.createdAt), desc(staffNotes.id))
      .limit(perPage)
      .offset((page - 1) * perPage),
  ]);
  return { notes, total };
}

function isAbout({ steamId64, penaltyId }: NoteSubject): SQL | undefined {
  return and(
    eq(staffNotes.steamId64, steamId64),
    penaltyId === undefined ? undefined : eq(staffNotes.penaltyId, penaltyId),
  );
}

type NewNote = NoteSubject & { text: string; now: Date; authorUserId: number };

/**
 * Adds a note about a player, or about one of their penalties. Written to the audit log, without its text.
 * @param tx a transaction that has locked nothing about people yet.
 * @throws {WrongLength} for a text without visible characters, or of more than {@link MAX_NOTE_LENGTH} characters.
 * @throws {Forbidden} when the author is no longer a moderator or administrator.
 * @throws {NotFound} when the player was erased during the request.
 */
export async function addStaffNote(tx: Tx, { text, now, authorUserId, ...subject }: NewNote): Promise<void> {
  const words = parseWrittenText(text, { minimum: 1, maximum: MAX_NOTE_LENGTH });
  await holdOffErasures(tx);
  // Longer than any request waits.
  const erased = await listErased(tx, [subject.steamId64], { withinMinutes: 1 });
  if (erased.size > 0) throw new NotFound('the player has just been erased');
  await lockActingUser(tx, authorUserId, { mayAct: mayReadRecords });
  const [note] = await tx
    .insert(staffNotes)
    .values({ ...subject, authorUserId, text: words, createdAt: now })
    .returning({ id: staffNotes.id });
  await recordAudit(tx, {
    actor: { userId: authorUserId },
    action: 'note.added',
    subject: subject.steamId64,
    details: { noteId: note?.id, ...(subject.penaltyId !== undefined && { penaltyId: subject.penaltyId }) },
  });
}

/**
 * Deletes a note about a player. Written to the audit log.
 * @throws {NotFound} when there is no such note · {Forbidden} when the acting user is neither its author nor an administrator.
 */
export async function deleteStaffNote(
  db: Db,
  { id, steamId64, penaltyId }: NoteSubject & { id: number },
  { userId }: { userId: number },
): Promise<void> {
  await inTransaction(db, async (tx) => {
    await holdOffErasures(tx);
    const user = await lockActingUser(tx, userId, { mayAct: mayReadRecords });
    const [note] = await tx
      .select({ authorUserId: staffNotes.authorUserId })
      .from(staffNotes)
      .where(and(eq(staffNotes.id, id), isAbout({ steamId64, penaltyId })));
    if (!note) throw new NotFound(`There is no note ${id} about ${steamId64}`);
    if (!mayDeleteNote(user, note))
      throw new Forbidden('a note is deleted by its author or an administrator');
    await tx.delete(staffNotes).where(eq(staffNotes.id, id));
    await recordAudit(tx, {
      actor: { userId },
      action: 'note.deleted',
      subject: steamId64,
      details: { noteId: id },
    });
  });
}

/** Whether a moderator may delete a note: their own ones, administrators all. */
export function mayDeleteNote(user: User, { authorUserId }: { authorUserId: number | null }): boolean {
  return isAdministrator(user) || authorUserId === user.id;
}
