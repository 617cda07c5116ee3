import { ApplicationCommandType } from 'discord.js';
import { foldText } from '../../src/fold-text.ts';
import type { ServerBoard } from '../../src/server-board.ts';
import { type Answer, type Asker, type Command, type Components, type Pressed, Refusal } from '../command.ts';
import { readNumber } from '../custom-id.ts';
import { type Attachment, noticeMessage } from '../embeds/message.ts';
import { inDisplayOrder, playerList, serverCard, serverChoice, serverList } from '../embeds/server.ts';
import { LIMITS } from '../limits.ts';
import type { Reader } from '../locales/reader.ts';
import { escapeText } from '../text.ts';
import { type ServerView, toServerView } from '../view.ts';
import { localized, stringOption } from './localized.ts';

export type ServerDeps = {
  board: Pick<ServerBoard, 'current' | 'findById' | 'findBySlug'>;
  publicUrl: string;
  /** The last 24 hours of a server; undefined when there are none. */
  chartOf: (serverId: number, reader: Reader) => Promise<Attachment | undefined>;
  /** Posts a message into the asker's channel that keeps itself up to date. */
  pinLiveStatus: (asker: Asker, serverId: number | undefined) => Promise<void>;
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
    execute: (asker, { strings }) => ({
      to: 'everyone',
      render: () => {
        const offersPin = asker.canModerateMembers && asker.guildId !== undefined;
        const name = strings.name?.trim();
        if (!name) return listMessage(deps, asker.publicReader, offersPin);
        const server = findServer(deps, name);
        if (server) return cardMessage(deps, server, asker.publicReader, offersPin);
        throw new Refusal(({ refusals }) =>
          noticeMessage(refusals.serverNotFound(escapeText(name, { max: 64 }))),
        );
      },
    }),
    autocomplete: (asker, typed) => {
      const wanted = foldText(typed.trim());
      return listViews(deps)
        .filter(({ name, slug, map }) => [name, slug, map].some((text) => foldText(text).includes(wanted)))
        .map((server) => serverChoice(server, asker.reader.texts))
        .filter(({ value }) => value.length <= LIMITS.choiceText)
        .slice(0, LIMITS.choices);
    },
  };
}

/** Buttons and menus of `/server` messages. */
export function serverComponents(deps: ServerDeps): Components {
  return {
    'server.refresh': (asker, pressed) => ({
      to: 'message',
      render: () =>
        cardMessage(
          deps,
          requireServer(deps, pressed.args[0]),
          readerOf(asker, pressed),
          pressed.args[1] === '1',
        ),
    }),
    'server.list': (asker, pressed) =>
      besideOthers(asker, pressed, (reader) => listMessage(deps, reader, pressed.args[0] === '1')),
    'server.open': (asker, pressed) =>
      besideOthers(asker, pressed, (reader) =>
        cardMessage(deps, requireServer(deps, pressed.values[0]), reader, pressed.args[0] === '1'),
      ),
    'server.players': (asker, pressed) => ({
      to: pressed.args[2] === 'turn' && pressed.isEphemeral ? 'message' : 'asker',
      render: () =>
        playerList(requireServer(deps, pressed.args[0]), readNumber(pressed.args[1]) ?? 1, asker.reader),
    }),
    'server.pin': (asker, pressed) => ({
      to: 'asker',
      render: async () => {
        if (!asker.canModerateMembers || asker.guildId === undefined) {
          throw new Refusal(({ refusals }) => noticeMessage(refusals.pinRequiresModerateMembers));
        }
        if (!asker.botMayPost) throw new Refusal(({ refusals }) => noticeMessage(refusals.cannotPost));
        const serverId = pressed.args[0] === 'all' ? undefined : requireServer(deps, pressed.args[0]).id;
        await deps.pinLiveStatus(asker, serverId);
        return noticeMessage(`📌 ${asker.reader.texts.refusals.pinned}`, 0x3ba55d);
      },
    }),
  };
}

/** Whoever asked browses in his message; somebody else gets a copy of his own, so that nobody's view jumps. */
function besideOthers(
  asker: Asker,
  pressed: Pressed,
  render: (reader: Reader) => ReturnType<Answer['render']>,
): Answer {
  const isOwn = pressed.isEphemeral || pressed.ownerId === asker.discordId;
  return isOwn
    ? { to: 'message', render: () => render(readerOf(asker, pressed)) }
    : { to: 'asker', render: () => render(asker.reader) };
}

function readerOf(asker: Asker, { isEphemeral }: Pressed): Reader {
  return isEphemeral ? asker.reader : asker.publicReader;
}

function listViews({ board }: ServerDeps): ServerView[] {
  return inDisplayOrder(board.current().map(toServerView));
}

function listMessage(deps: ServerDeps, { texts }: Reader, offersPin: boolean) {
  return serverList(listViews(deps), { texts, offersPin });
}

async function cardMessage(deps: ServerDeps, server: ServerView, reader: Reader, offersPin: boolean) {
  const chart = await deps.chartOf(server.id, reader);
  return serverCard(server, { texts: reader.texts, publicUrl: deps.publicUrl, offersPin, chart });
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
