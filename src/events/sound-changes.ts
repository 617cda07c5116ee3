import { soundVersion } from '../domain/round-sound.ts';
import type { SteamId64 } from '../domain/steam-id.ts';
import type { ReadyRoundSound } from '../queries/round-sounds/round-sounds.ts';

/** `version`: the one of its URL; null when it was removed. */
export type SoundChange = { steamId64: SteamId64; hasSound: boolean; version: string | null };

/**
 * The sounds that were published, replaced or removed between two readings. What nobody may hear is no change, and
 * neither is a change of who may have a sound.
 */
export function compareSounds(
  before: readonly ReadyRoundSound[],
  after: readonly ReadyRoundSound[],
): SoundChange[] {
  const keyOf = ({ id, sha256 }: ReadyRoundSound) => `${id} ${sha256}`;
  const known = new Set(before.map(keyOf));
  const published = after.filter((sound) => sound.isServed && !known.has(keyOf(sound)));
  const players = new Set(after.map(({ steamId64 }) => steamId64));
  const removed = before.filter(({ steamId64, isServed }) => isServed && !players.has(steamId64));
  return [
    ...published.map(({ steamId64, sha256 }) => ({
      steamId64,
      hasSound: true,
      version: sha256 && soundVersion(sha256),
    })),
    ...removed.map(({ steamId64 }) => ({ steamId64, hasSound: false, version: null })),
  ];
}
