/** Whether a user is an administrator: admins and owners are. */
export function isAdministrator(user: { isAdmin: boolean; isOwner: boolean }): boolean {
  return user.isAdmin || user.isOwner;
}
