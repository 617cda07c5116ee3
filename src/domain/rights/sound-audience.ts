import { InvalidInput } from '../errors.ts';
import { isAdministrator } from './administrator.ts';

/** Who a round-end sound can be for; owners count as admins. */
const SOUND_GROUPS = ['svip', 'serviceplus', 'admin'] as const;
export type SoundGroup = (typeof SOUND_GROUPS)[number];

/** Who may have a round-end sound: `SOUND_FOR`. */
export type SoundAudience = 'everyone' | readonly SoundGroup[];

/** The flags of a user that decide whether they may have a sound. */
type SoundRights = { hasSvip: boolean; isServiceplus: boolean; isAdmin: boolean; isOwner: boolean };

/**
 * Reads who may have a round-end sound: `everyone`, or groups; an empty list means everyone.
 * @throws {InvalidInput} for a name that is no group.
 */
export function parseSoundAudience(names: readonly string[]): SoundAudience {
  const groups = names
    .filter((name) => name !== 'everyone')
    .map((name) => {
      const group = SOUND_GROUPS.find((candidate) => candidate === name);
      if (group) return group;
      throw new InvalidInput(
        `SOUND_FOR=${JSON.stringify(name)} isn't valid: use everyone, or any of ${SOUND_GROUPS.join(', ')}, separated by commas`,
      );
    });
  return names.includes('everyone') || groups.length === 0 ? 'everyone' : [...new Set(groups)];
}

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
