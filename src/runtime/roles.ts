/**
 * The parts a process can run; several processes may share the work. Parts that must run once (`poller`, `bot`, `sync`)
 * run in the leading process, see `runAsLeader`.
 */
export const ROLES = ['api', 'bot', 'poller', 'media', 'sync'] as const;
export type Role = (typeof ROLES)[number];
