import type { EventType } from '../../../src/domain/event.ts';
import { soundVersion } from '../../../src/domain/round-sound.ts';
import { formatTimestamp } from '../../../src/domain/text/timestamp.ts';
import type { ReadyRoundSound } from '../../../src/queries/round-sounds/round-sounds.ts';
import type { ServerStatus } from '../../../src/queries/servers/servers.ts';
import { presentServer } from '../servers/server-models.ts';
import type { StreamedEvent } from './event-streams.ts';

/**
 * The changes from one poll to the next. Servers that are new, hidden or removed cause no event; `server.up` comes
 * without events for map and players.
 */
export function serverEvents(
  before: readonly ServerStatus[],
  after: readonly ServerStatus[],
): StreamedEvent[] {
  const snapshots = new Map(before.map(({ server, snapshot }) => [server.id, snapshot]));
  return after.flatMap((status) => {
    const { server, snapshot } = status;
    if (!snapshots.has(server.id) || !snapshot) return [];
    const previous = snapshots.get(server.id);
    const occurred_at = formatTimestamp(snapshot.polledAt);
    const event = (type: EventType) => ({ type, data: { type, occurred_at, server: presentServer(status) } });
    if (snapshot.isOnline !== (previous?.isOnline ?? false)) {
      return [event(snapshot.isOnline ? 'server.up' : 'server.down')];
    }
    if (!snapshot.isOnline || !previous) return [];
    const hasSamePlayers =
      snapshot.playersCount === previous.playersCount && snapshot.maxPlayers === previous.maxPlayers;
    return [
      ...(snapshot.map === previous.map ? [] : [event('server.map')]),
      ...(hasSamePlayers ? [] : [event('server.players')]),
    ];
  });
}

/**
 * The round-end sounds that were published, replaced or removed between two readings. A sound that is not served causes
 * no event, and neither does a change of who may have a sound.
 */
export function soundEvents(
  before: readonly ReadyRoundSound[],
  after: readonly ReadyRoundSound[],
  now: Date,
): StreamedEvent[] {
  const version = (sha256: string | null | undefined) => (sha256 ? soundVersion(sha256) : null);
  const event = (steamid64: string, sound?: ReadyRoundSound) => {
    const type = 'sound.changed';
    const occurred_at = formatTimestamp(now);
    const versions = { v: version(sound?.sha256), voice_v: version(sound?.voiceSha256) };
    return {
      type,
      data: { type, occurred_at, steamid64, has_sound: sound !== undefined, ...versions },
    } as const;
  };
  const keyOf = ({ id, sha256 }: ReadyRoundSound) => `${id} ${sha256}`;
  const keys = new Set(before.map(keyOf));
  const publishedSounds = after.filter((sound) => sound.isServed && !keys.has(keyOf(sound)));
  const players = new Set(after.map(({ steamId64 }) => steamId64));
  const removedSounds = before.filter(({ steamId64, isServed }) => isServed && !players.has(steamId64));
  return [
    ...publishedSounds.map((sound) => event(sound.steamId64, sound)),
    ...removedSounds.map(({ steamId64 }) => event(steamId64)),
  ];
}
