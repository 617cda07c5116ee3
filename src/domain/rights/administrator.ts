import type { SteamId64 } from '../steam-id.ts';

/** A user, as far as rights on the moderation pages depend on them. */
export type Staff = { steamId64: SteamId64; isAdmin: boolean; isOwner: boolean; isModerator: boolean };

/** Whether a user is an administrator: admins and owners are. */
export function isAdministrator(user: Pick<Staff, 'isAdmin' | 'isOwner'>): boolean {
  return user.isAdmin || user.isOwner;
}

/** Whether a user may read penalties and players' records on the moderation pages: moderators and administrators may. */
export function mayReadRecords(user: Omit<Staff, 'steamId64'>): boolean {
  return user.isModerator || isAdministrator(user);
}
