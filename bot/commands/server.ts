import { ApplicationCommandType } from 'discord.js';
import { foldText } from '../../src/fold-text.ts';
import type { ServerBoard } from '../../src/server-board.ts';
import {
  type Command,
  type CommandResponse,
  type ComponentPress,
  type Components,
  type Invoker,
  Refusal,
} from '../command.ts';
import { readNumber } from '../custom-id.ts';
import { type Attachment, noticeMessage } from '../embeds/message.ts';
import { playerList } from '../embeds/player-list.ts';
import { serverCard } from '../embeds/server-card.ts';
import { inDisplayOrder, serverChoice, serverList } from '../embeds/server-list.ts';
import { type ServerView, toServerView } from '../embeds/server-view.ts';
import { LIMITS } from '../limits.ts';
import type { Localization } from '../locales/localization.ts';
import { escapeText } from '../text.ts';
import { localized, stringOption } from './localized.ts';

export type ServerDeps = {
  board: Pick<ServerBoard, 'current' | 'findById' | 'findBySlug'>;
  publicUrl: string;
  /** The last 24 hours of a server; undefined when there are none. */
  chartOf: (serverId: number, localization: Localization) => Promise<Attachment | undefined>;
  /** Posts a message into the invoker's channel that keeps itself up to date. */
  pinLiveStatus: (invoker: Invoker, serverId: number | undefined) => Promise<void>;
};

/** `/server name?` */
export const SERVER_DEFINITION: Command['data'] = {
  ...localized(({ server }) => server),
  type: ApplicationCommandType.ChatInput,
  options: [stringOption(({ server }) => server.options.name, { autocomplete: true })],
};

/** `/server`: the list of all servers, or the card of one. Everything but the chart comes from memory. */
export function serverCommand(deps: ServerDeps): Command {
  return {
    data: SERVER_DEFINITION,
    execute: (invoker, { strings }) => ({
      kind: 'public',
      render: () => {
        const offersPin = invoker.canModerateMembers && invoker.guildId !== undefined;
        const name = strings.name?.trim();
        if (!name) return listMessage(deps, invoker.guildLocalization, offersPin);
        const server = findServer(deps, name);
        if (server) return cardMessage(deps, server, invoker.guildLocalization, offersPin);
        throw new Refusal(({ refusals }) =>
          noticeMessage(refusals.serverNotFound(escapeText(name, { max: 64 }))),
        );
      },
    }),
    autocomplete: (invoker, typed) => {
      const wanted = foldText(typed.trim());
      return listViews(deps)
        .filter(({ name, slug, map }) => [name, slug, map].some((text) => foldText(text).includes(wanted)))
        .map((server) => serverChoice(server, invoker.localization.texts))
        .filter(({ value }) => value.length <= LIMITS.choiceText)
        .slice(0, LIMITS.choices);
    },
  };
}

/** Buttons and menus of `/server` messages. */
export function serverComponents(deps: ServerDeps): Components {
  return {
    'server.refresh': (invoker, press) => ({
      kind: 'update',
      render: () =>
        cardMessage(
          deps,
          requireServer(deps, press.args[0]),
          readerOf(invoker, press),
          press.args[1] === '1',
        ),
    }),
    'server.list': (invoker, press) =>
      besideOthers(invoker, press, (localization) => listMessage(deps, localization, press.args[0] === '1')),
    'server.open': (invoker, press) =>
      besideOthers(invoker, press, (localization) =>
        cardMessage(deps, requireServer(deps, press.values[0]), localization, press.args[0] === '1'),
      ),
    'server.players': (invoker, press) => ({
      kind: press.args[2] === 'turn' && press.isEphemeral ? 'update' : 'ephemeral',
      render: () =>
        playerList(requireServer(deps, press.args[0]), readNumber(press.args[1]) ?? 1, invoker.localization),
    }),
    'server.pin': (invoker, press) => ({
      kind: 'ephemeral',
      render: async () => {
        if (!invoker.canModerateMembers || invoker.guildId === undefined) {
          throw new Refusal(({ refusals }) => noticeMessage(refusals.pinRequiresModerateMembers));
        }
        if (!invoker.botCanPost) throw new Refusal(({ refusals }) => noticeMessage(refusals.cannotPost));
        const serverId = press.args[0] === 'all' ? undefined : requireServer(deps, press.args[0]).id;
        await deps.pinLiveStatus(invoker, serverId);
        return noticeMessage(`📌 ${invoker.localization.texts.refusals.pinned}`, 0x3ba55d);
      },
    }),
  };
}

/** Whoever asked browses in his message; somebody else gets a copy of his own, so that nobody's view jumps. */
function besideOthers(
  invoker: Invoker,
  press: ComponentPress,
  render: (localization: Localization) => ReturnType<CommandResponse['render']>,
): CommandResponse {
  const isOwn = press.isEphemeral || press.messageOwnerId === invoker.discordId;
  return isOwn
    ? { kind: 'update', render: () => render(readerOf(invoker, press)) }
    : { kind: 'ephemeral', render: () => render(invoker.localization) };
}

function readerOf(invoker: Invoker, { isEphemeral }: ComponentPress): Localization {
  return isEphemeral ? invoker.localization : invoker.guildLocalization;
}

function listViews({ board }: ServerDeps): ServerView[] {
  return inDisplayOrder(board.current().map(toServerView));
}

function listMessage(deps: ServerDeps, { texts }: Localization, offersPin: boolean) {
  return serverList(listViews(deps), { texts, offersPin });
}

async function cardMessage(
  deps: ServerDeps,
  server: ServerView,
  localization: Localization,
  offersPin: boolean,
) {
  const chart = await deps.chartOf(server.id, localization);
  return serverCard(server, { texts: localization.texts, publicUrl: deps.publicUrl, offersPin, chart });
}

/** Autocomplete confines nobody: the value may be anything. A slug, or a whole name. */
function findServer({ board }: ServerDeps, text: string): ServerView | undefined {
  const status =
    board.findBySlug(text) ??
    board.findBySlug(text.toLowerCase()) ??
    board.current().find(({ server }) => foldText(server.name) === foldText(text));
  return status && toServerView(status);
}

/** @throws {Refusal} when the id names no listed server. */
function requireServer({ board }: ServerDeps, arg: string | undefined): ServerView {
  const id = readNumber(arg);
  const status = id === undefined ? undefined : board.findById(id);
  if (status) return toServerView(status);
  throw new Refusal(({ server }) => noticeMessage(server.noLongerListed));
}
