import type { SteamId64 } from '../steam-id.ts';
import { isAdministrator } from './administrator.ts';

/** The user who looks at another one; owners count as admins. */
type Viewer = { steamId64: SteamId64; isAdministrator: boolean };

/** The viewer that a signed-in user is. */
export function viewerOf(user: { steamId64: SteamId64; isAdmin: boolean; isOwner: boolean }): Viewer {
  return { steamId64: user.steamId64, isAdministrator: isAdministrator(user) };
}

type DiscordLink = { discordId: string | null; discordUsername: string; discordAvatar: string };

/** Whether a viewer may know which Discord account is a user's: everybody may, unless the user hides it. */
export function maySeeDiscord(
  user: { steamId64: SteamId64; hidesDiscord: boolean },
  viewer: Viewer,
): boolean {
  return !user.hidesDiscord || viewer.isAdministrator || viewer.steamId64 === user.steamId64;
}

/** The user as if no Discord account were linked. */
export function withoutDiscord<U extends DiscordLink>(user: U): U {
  return { ...user, discordId: null, discordUsername: '', discordAvatar: '' };
}
