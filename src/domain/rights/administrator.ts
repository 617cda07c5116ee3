/** Whether a user is an administrator: admins and owners are. */
export function isAdministrator(user: { isAdmin: boolean; isOwner: boolean }): boolean {
  return user.isAdmin || user.isOwner;
}

/** Whether a user may read penalties and players' records on the moderation pages: moderators and administrators may. */
export function mayReadRecords(user: { isAdmin: boolean; isOwner: boolean; isModerator: boolean }): boolean {
  return user.isModerator || isAdministrator(user);
}
