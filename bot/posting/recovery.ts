/** After messages that work in its guild, a paused feed or live status message is tried at most this often. */
const TRY_EVERY_MS = 3_600_000;

/** Decides when a paused feed or live status message is tried once: when something works in its guild. */
export type Recovery = {
  /** Called when a message was posted or edited in a guild. */
  worked: (guildId: string | null) => void;
  /** Called when the commands are back after the bot was removed from a guild. */
  returned: () => void;
  /** Called when a feed or live status message was paused. */
  paused: (key: string, guildId: string | null) => void;
  /** Whether to try something paused now. It may be tried once for each of the calls above, after messages once an hour. */
  takeTry: (key: string, guildId: string | null) => boolean;
};

export function createRecovery(): Recovery {
  let returns = 0;
  const messages = new Map<string | null, number>();
  const count = (guildId: string | null) => ({ returns, messages: messages.get(guildId) ?? 0 });
  /** By key: the number of calls when it was paused or last tried. */
  const known = new Map<string, { returns: number; messages: number; notBeforeMs: number }>();
  const paused: Recovery['paused'] = (key, guildId) =>
    void known.set(key, { ...count(guildId), notBeforeMs: 0 });
  return {
    worked: (guildId) => void messages.set(guildId, (messages.get(guildId) ?? 0) + 1),
    returned: () => {
      returns += 1;
    },
    paused,
    takeTry: (key, guildId) => {
      const before = known.get(key);
      // Another process paused it.
      if (!before) paused(key, guildId);
      const now = count(guildId);
      const nowMs = performance.now();
      const hasWorked = before && now.messages > before.messages && nowMs >= before.notBeforeMs;
      if (!before || !(now.returns > before.returns || hasWorked)) return false;
      known.set(key, { ...now, notBeforeMs: nowMs + TRY_EVERY_MS });
      return true;
    },
  };
}
