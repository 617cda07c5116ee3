import { type ServerView, toServerView } from '../../src/live/server-view.ts';
import {
  type CommandResponse,
  type ComponentPress,
  type Components,
  type Invoker,
  Refusal,
} from '../command.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message.ts';
import { playerList } from '../embeds/player-list.ts';
import { tryParsePositive } from '../interactions/custom-id.ts';
import type { Localization } from '../locales/localization.ts';
import { renderCard, renderList, type ServerDeps } from './server-messages.ts';

/** Buttons and menus of `/server` messages. */
export const serverComponents: Components<ServerDeps> = {
  'server.refresh': (deps, invoker, press) => ({
    kind: 'update',
    render: () => {
      const [serverId, offersPin] = press.args;
      const server = requireServer(deps, serverId);
      return renderCard(deps, server, localizationFor(invoker, press), offersPin === '1');
    },
  }),
  'server.list': (deps, invoker, press) =>
    updateOwn(invoker, press, (localization) => renderList(deps, localization, press.args[0] === '1')),
  'server.open': (deps, invoker, press) =>
    updateOwn(invoker, press, (localization) => {
      const server = requireServer(deps, press.values[0]);
      return renderCard(deps, server, localization, press.args[0] === '1');
    }),
  'server.players': (deps, invoker, { args: [serverId, page, turn], isEphemeral }) => ({
    kind: turn === 'turn' && isEphemeral ? 'update' : 'ephemeral',
    render: () =>
      playerList(requireServer(deps, serverId), tryParsePositive(page) ?? 1, invoker.localization),
  }),
  'server.pin': (deps, invoker, press) => ({
    kind: 'ephemeral',
    sendsMessages: true,
    render: () => pin(deps, invoker, press),
  }),
};

/** The component's argument is a server's id, or `all`. */
async function pin(
  deps: ServerDeps,
  invoker: Invoker,
  { args: [arg], messageId }: ComponentPress,
): Promise<MessageView> {
  if (!invoker.canModerateMembers || invoker.guildId === undefined) {
    throw new Refusal(({ refusals }) => noticeMessage(refusals.pinRequiresModerateMembers));
  }
  if (invoker.botLacks.length > 0) throw new Refusal(({ refusals }) => noticeMessage(refusals.cannotPost));
  const serverId = arg === 'all' ? undefined : requireServer(deps, arg).id;
  await deps.pinLiveStatus(invoker, { serverId, pressedMessageId: messageId });
  return noticeMessage(`📌 ${invoker.localization.texts.refusals.pinned}`, COLOURS.online);
}

/** Updates the message for its owner; others get a message of their own, so that the owner's does not change. */
function updateOwn(
  invoker: Invoker,
  press: ComponentPress,
  render: (localization: Localization) => ReturnType<CommandResponse['render']>,
): CommandResponse {
  const isOwn = press.isEphemeral || press.messageOwnerId === invoker.discordId;
  return isOwn
    ? { kind: 'update', render: () => render(localizationFor(invoker, press)) }
    : { kind: 'ephemeral', render: () => render(invoker.localization) };
}

/** The language of an updated message: the invoker's if only they see it, else the guild's. */
function localizationFor(invoker: Invoker, { isEphemeral }: ComponentPress): Localization {
  return isEphemeral ? invoker.localization : invoker.guildLocalization;
}

/** @throws {Refusal} when the id is not that of a listed server. */
function requireServer({ servers }: ServerDeps, arg: string | undefined): ServerView {
  const id = tryParsePositive(arg);
  const status = id === undefined ? undefined : servers.findById(id);
  if (status) return toServerView(status);
  throw new Refusal(({ server }) => noticeMessage(server.noLongerListed));
}
