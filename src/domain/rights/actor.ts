/**
 * Who changes something, for the audit log: a signed-in user by their row id, whoever runs the operator's tool, or the
 * settings (`OWNER_STEAMIDS`, the mirror of `SIMPLEADMIN_URL`), or the service by itself, or a
 * member who is no user any more.
 */
export type Actor = { userId: number } | 'operator' | 'configuration' | 'service' | 'member';
