import { createBot } from '../../../bot/bot.ts';
import { aSteamId, insertPenalties, insertServer, insertUser } from '../database/builders.ts';
import { type Actor, anActor } from '../discord/actor.ts';
import { waitFor } from '../wait.ts';
import { startTestBot } from './bot.ts';

/** An option whose player is looked up at Steam, slower or broken on demand. */
export const VANITY = { steamid: 'steamcommunity.com/id/somebody' };

/**
 * A bot that is connected, with one server ("one") and a moderator who has 12 penalties, and whose Steam and history are
 * slower or broken on demand. It defers after 600 ms.
 */
export async function startUnreliableBot() {
  const behaviour: { delayMs: number; error: Error | undefined } = { delayMs: 0, error: undefined };
  const harness = await startTestBot();
  const { db, deps } = harness;
  const bot = createBot({
    ...deps,
    readHistory: async (serverId, hours) => {
      await Bun.sleep(behaviour.delayMs);
      return deps.readHistory(serverId, hours);
    },
    resolveVanity: async () => {
      await Bun.sleep(behaviour.delayMs);
      if (behaviour.error) throw behaviour.error;
      return aSteamId(1);
    },
    timings: { ...deps.timings, deferAfterMs: 600 },
  });
  const moderator: Actor = anActor({ isModerator: true });
  const { id } = await insertServer(db, { slug: 'one', name: 'One' });
  await harness.poll(id, {});
  await insertUser(db, 1, { nickname: 'Somebody', discordId: moderator.user.id });
  await insertPenalties(
    db,
    Array.from({ length: 12 }, () => ({})),
  );
  await harness.refreshServers();
  bot.start();
  await waitFor(() => bot.health().state === 'ready');
  return { ...harness, bot, behaviour, moderator };
}
