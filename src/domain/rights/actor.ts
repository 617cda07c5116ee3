/**
 * Who changes something, for the audit log: a signed-in user by their row id, a member of a Discord server by their
 * Discord id, the person who runs the operator's tool, the settings (`OWNER_STEAMIDS`, the mirror of `SIMPLEADMIN_URL`), the
 * service by itself, or a member whose account is deleted.
 */
export type Actor =
  | { userId: number }
  | { discordId: string }
  | 'operator'
  | 'configuration'
  | 'service'
  | 'member';
