/**
 * The parts a process can run; several processes may share the work. What must run once (`poller`, `bot`, and of `sync` all
 * but the marking of expired penalties) runs in the leading process, see `openLeaders`.
 */
export const ROLES = ['api', 'bot', 'poller', 'media', 'sync'] as const;
export type Role = (typeof ROLES)[number];
