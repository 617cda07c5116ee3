import type { SteamBans } from '../../src/queries/steam-bans.ts';
import type { Texts } from '../locales/en.ts';

/** Steam's own bans of a player, or that they are unavailable. */
export type SteamBansView =
  | Pick<SteamBans, 'vacBans' | 'gameBans' | 'daysSinceLastBan' | 'isCommunityBanned'>
  | 'unknown';

/** Steam's own bans in one line; "none" only when Steam confirmed it. */
export function steamBansLine(bans: SteamBansView, { steamBans: words }: Texts): string {
  if (bans === 'unknown') return words.unknown;
  const { vacBans, gameBans, daysSinceLastBan, isCommunityBanned } = bans;
  const parts = [
    vacBans > 0 && words.vac(vacBans),
    gameBans > 0 && words.game(gameBans),
    isCommunityBanned && words.community,
  ].filter((word) => word !== false);
  if (parts.length === 0) return words.none;
  const hasDate = vacBans + gameBans > 0;
  return `⚠️ ${parts.join(' · ')}${hasDate ? ` (${words.last(daysSinceLastBan)})` : ''}`;
}
