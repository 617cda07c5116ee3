import { SlashCommandBuilder } from 'discord.js';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import type { ServerView } from '../../src/live/server-view.ts';
import { tryParsePositive } from '../embeds/custom-id.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import { COLOURS, type MessageView, noticeMessage } from '../embeds/message-view.ts';
import { Refusal } from '../embeds/refusal.ts';
import { playerList, serverCard } from '../embeds/server-card.ts';
import { serverChoice, serverList } from '../embeds/server-list.ts';
import { escapeText } from '../embeds/text.ts';
import type { Texts } from '../locales/en.ts';
import { BOT_TEXTS, type Localization, localized } from '../locales/localization.ts';
import { completeChoices, findChoice } from './choices.ts';
import {
  type Choice,
  type Command,
  type CommandDeps,
  type CommandResponse,
  type ComponentPress,
  type Invoker,
  permissionRequired,
} from './command.ts';

/** A2S_INFO has one byte for the number of slots. */
export const MAX_PLAYERS = 255;
/** The number of slots of a server that has not reported it. */
const UNKNOWN_SLOTS = 64;

/** `/server name?`: the list of all servers, or the card of one. Everything but the chart is in memory. */
export const serverCommand: Command = {
  define: () =>
    localized(new SlashCommandBuilder(), ({ server }) => server)
      .addStringOption((option) =>
        localized(option, ({ server }) => server.options.name).setAutocomplete(true),
      )
      .toJSON(),
  execute: (deps, { canModerateMembers, guildId, guildLocalization }, options) => ({
    kind: 'public',
    render: () => {
      const offersPin = canModerateMembers && guildId !== undefined;
      const name = options.name?.trim();
      if (!name) return renderList(deps, guildLocalization, offersPin);
      return renderCard(deps, findServer(deps, name), guildLocalization, offersPin);
    },
  }),
  autocomplete: (deps, { localization }, { text }) => completeServer(deps, text, localization.texts),
  components: {
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
  },
};

/** The list of all servers. */
function renderList(deps: CommandDeps, { texts }: Localization, offersPin: boolean): MessageView {
  return serverList(deps.servers.listViews(), { texts, pages: deps.pages, offersPin });
}

/** The card of one server, with its chart. */
async function renderCard(
  deps: CommandDeps,
  server: ServerView,
  localization: Localization,
  offersPin: boolean,
): Promise<MessageView> {
  const chart = await deps.chartOf(server.id, localization);
  return serverCard(server, { texts: localization.texts, pages: deps.pages, offersPin, chart });
}

/** The component's argument is a server's id, or `all`. */
async function pin(
  deps: CommandDeps,
  invoker: Invoker,
  { args: [arg], messageId }: ComponentPress,
): Promise<MessageView> {
  if (!invoker.canModerateMembers || invoker.guildId === undefined) {
    throw permissionRequired(invoker, ({ refusals }) => refusals.pinRequiresModerateMembers);
  }
  if (invoker.botLacks.length > 0) throw new Refusal(({ refusals }) => refusals.cannotPost);
  const serverId = arg === 'all' ? undefined : requireServer(deps, arg).id;
  await deps.pinLiveStatus(invoker, { serverId, pressedMessageId: messageId });
  return noticeMessage(`📌 ${invoker.localization.texts.refusals.pinned}`, COLOURS.online);
}

/** Updates the message for its owner; anyone else gets a new message, so that the owner's does not change. */
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
function requireServer({ servers }: CommandDeps, arg: string | undefined): ServerView {
  const id = tryParsePositive(arg);
  const status = id === undefined ? undefined : servers.findById(id);
  if (status) return servers.toView(status);
  throw new Refusal(({ server }) => server.noLongerListed);
}

/** Suggests servers whose name, slug or map contains the typed text; the values are slugs. */
export function completeServer({ servers }: CommandDeps, typed: string, texts: Texts): Choice[] {
  return completeChoices(serverChoices(servers, texts), typed);
}

function serverChoices(servers: CommandDeps['servers'], texts: Texts): Choice[] {
  return servers
    .listViews()
    .map((server) => serverChoice(server, texts))
    .filter(({ value }) => value.length <= LIMITS.choiceText);
}

/**
 * The server that an option means; its text can be anything, since autocomplete only suggests.
 * @throws {Refusal} when there is none.
 */
export function findServer({ servers }: CommandDeps, text: string): ServerView {
  const slug = findChoice(serverChoices(servers, BOT_TEXTS[DEFAULT_LANGUAGE]), text);
  const status =
    servers.findBySlug(slug ?? text) ??
    // A label has only the beginning of a long name.
    servers.current().find(({ server }) => foldText(server.name) === foldText(text.trim()));
  if (status) return servers.toView(status);
  throw new Refusal(({ refusals }) => refusals.serverNotFound(escapeText(text, { max: 64, fallback: '?' })));
}

/** @throws {Refusal} when so many players fit on none of these servers. */
export function requireRoomFor(players: number, servers: readonly ServerView[]): void {
  const slots = Math.max(0, ...servers.map(({ maxPlayers }) => maxPlayers || UNKNOWN_SLOTS)) || UNKNOWN_SLOTS;
  if (players > slots) throw new Refusal(({ refusals }) => refusals.tooManyPlayers(slots));
}
