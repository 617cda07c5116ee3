import { localizationOf } from '../../../bot/locales/localization.ts';
import { insertServer } from '../database/builders.ts';
import { type Actor, anActor } from '../discord/actor.ts';
import { type Exchange, messageOf } from '../discord/exchange.ts';
import type { Fault } from '../discord/faults.ts';
import { type FakeMessage, findButton } from '../discord/messages.ts';
import type { TestBot } from './bot.ts';

/** One server, "live", and the actions of tests on its live status messages. */
export async function createLiveMessages({ fake, db, poll, refreshServers }: TestBot) {
  const moderator = anActor({ isModerator: true, guildLocale: 'pl' });
  const { id: serverId } = await insertServer(db, { slug: 'live', name: 'Live' });
  let players = 0;

  /** Adds a player to the server, in memory too. @returns how many there are. */
  async function addPlayer(): Promise<number> {
    players += 1;
    await poll(serverId, { playersCount: players, players: [{ name: `P${players}`, score: players }] });
    await refreshServers();
    return players;
  }

  /** Pins by the button of the server's card. @param name empty: by the button of the list. */
  async function pin(
    actor: Actor = moderator,
    name = 'live',
  ): Promise<{ exchange: Exchange; posted: FakeMessage | undefined }> {
    const message = messageOf(await fake.command('server', name === '' ? {} : { name }, actor));
    const before = new Set(fake.messages.keys());
    const { buttons } = localizationOf(actor.guildLocale ?? '').texts;
    const button = findButton(message, buttons.pin);
    const exchange = await fake.press(message, button?.custom_id ?? '', actor);
    const posted = [...fake.messages.values()].find(
      ({ id, channel_id: channel, type }) => !before.has(id) && type === 0 && channel === actor.channelId,
    );
    return { exchange, posted };
  }

  await addPlayer();
  return {
    moderator,
    serverId,
    addPlayer,
    pin,
    /** The requests that changed a message. */
    edits: (messageId: string) =>
      fake.requests.filter(
        ({ method, path }) => method === 'PATCH' && path.endsWith(`/messages/${messageId}`),
      ),
    /** Makes edits of a message fail. */
    failEdits: (messageId: string, response: Fault['response'], times = 1) =>
      fake.fail({ matches: new RegExp(`^PATCH .*/messages/${messageId}$`), response, times }),
    /** Whether a message shows the player who came last. */
    showsLastPlayer: (messageId: string) =>
      JSON.stringify(fake.messages.get(messageId)?.embeds ?? []).includes(`P${players}`),
  };
}
