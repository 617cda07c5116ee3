import { isAdministrator } from './administrator.ts';

/** Who a round-end sound can be for; owners count as admins. */
export const SOUND_GROUPS = ['svip', 'serviceplus', 'admin'] as const;
export type SoundGroup = (typeof SOUND_GROUPS)[number];

/** Who may have a round-end sound: `SOUND_FOR`. */
export type SoundAudience = 'everyone' | readonly SoundGroup[];

/** The flags of a user that decide whether they may have a sound. */
type SoundRights = { hasSvip: boolean; isServiceplus: boolean; isAdmin: boolean; isOwner: boolean };

/** Whether somebody may have a sound; `user` is undefined for a player who never signed in. */
export function mayHaveSound(audience: SoundAudience, user: SoundRights | undefined): boolean {
  if (audience === 'everyone') return true;
  if (user === undefined) return false;
  const isIn: Record<SoundGroup, boolean> = {
    svip: user.hasSvip,
    serviceplus: user.isServiceplus,
    admin: isAdministrator(user),
  };
  return audience.some((group) => isIn[group]);
}
