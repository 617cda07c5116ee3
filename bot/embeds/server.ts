import type { APIEmbedField, APISelectMenuOption } from 'discord.js';
import { toCustomId } from '../custom-id.ts';
import { LIMITS } from '../limits.ts';
import type { Texts } from '../locales/en.ts';
import { code, cut, escapeText, joinLines, relativeTime, toPlainLine } from '../text.ts';
import type { ServerView } from '../view.ts';
import {
  type Attachment,
  button,
  COLOURS,
  linkButton,
  type MessageView,
  menuRow,
  type Row,
  row,
} from './message.ts';

export type CardOptions = {
  texts: Texts;
  /** Without a slash at the end. */
  publicUrl: string;
  /** Offers "Pin live status here". */
  offersPin: boolean;
  chart?: Attachment | undefined;
};

/** The card of one server. */
export function serverCard(server: ServerView, options: CardOptions): MessageView {
  const { texts, chart } = options;
  const flag = options.offersPin ? 1 : 0;
  return {
    embeds: [
      {
        title: escapeText(server.name),
        color: colourOf(server),
        ...(description(server, texts) && { description: description(server, texts) }),
        fields: cardFields(server, texts),
        ...(chart && { image: { url: `attachment://${chart.name}` } }),
      },
    ],
    components: [
      row(
        button(texts.buttons.refresh, toCustomId('server.refresh', server.id, flag), { emoji: '🔄' }),
        button(texts.buttons.players, toCustomId('server.players', server.id, 1), {
          emoji: '👥',
          isDisabled: server.players.length === 0,
        }),
        linkButton(texts.buttons.connect, connectUrl(options.publicUrl, server.slug)),
        button(texts.buttons.allServers, toCustomId('server.list', flag), { emoji: '📋' }),
        ...(options.offersPin
          ? [button(texts.buttons.pin, toCustomId('server.pin', server.id), { emoji: '📌' })]
          : []),
      ),
    ],
    ...(chart && { files: [chart] }),
  };
}

/** The card as a message that keeps itself up to date: nothing on it changes the message. */
export function liveServerCard(
  server: ServerView,
  options: { texts: Texts; publicUrl: string },
): MessageView {
  const { texts } = options;
  const card = serverCard(server, { ...options, offersPin: false });
  return {
    embeds: card.embeds.map((embed) => ({ ...embed, footer: { text: texts.server.live } })),
    components: [
      row(
        button(texts.buttons.players, toCustomId('server.players', server.id, 1), {
          emoji: '👥',
          isDisabled: server.players.length === 0,
        }),
        linkButton(texts.buttons.connect, connectUrl(options.publicUrl, server.slug)),
      ),
    ],
  };
}

/** All servers with totals, and menus to look at one. */
export function serverList(
  servers: readonly ServerView[],
  { texts, offersPin }: { texts: Texts; offersPin: boolean },
): MessageView {
  const flag = offersPin ? 1 : 0;
  return {
    embeds: [listEmbed(servers, texts)],
    components: [
      ...menus(servers, texts, flag),
      row(
        button(texts.buttons.refresh, toCustomId('server.list', flag), { emoji: '🔄' }),
        ...(offersPin ? [button(texts.buttons.pin, toCustomId('server.pin', 'all'), { emoji: '📌' })] : []),
      ),
    ],
  };
}

/** All servers as a message that keeps itself up to date. */
export function liveServerList(servers: readonly ServerView[], { texts }: { texts: Texts }): MessageView {
  return {
    embeds: [{ ...listEmbed(servers, texts), footer: { text: texts.server.live } }],
    components: menus(servers, texts, 0),
  };
}

/** Everybody on a server, in pages. */
export function playerList(server: ServerView, page: number, { texts }: { texts: Texts }): MessageView {
  const lastPage = Math.max(1, Math.ceil(server.players.length / PLAYERS_A_PAGE));
  const shown = Math.min(Math.max(1, page), lastPage);
  const lines = server.players.slice((shown - 1) * PLAYERS_A_PAGE, shown * PLAYERS_A_PAGE).map(playerLine);
  const goTo = (target: number) => toCustomId('server.players', server.id, target, 'turn');
  return {
    embeds: [
      {
        title: cut(texts.server.playersOf(escapeText(server.name, { max: 100 })), LIMITS.embedTitle),
        color: colourOf(server),
        description: [
          statusLine(server, texts),
          lines.length > 0
            ? joinLines(lines, { max: 3800, more: texts.server.more })
            : emptyList(server, texts),
          updatedLine(server, texts),
        ]
          .filter((part) => part !== '')
          .join('\n\n'),
      },
    ],
    components:
      lastPage === 1
        ? []
        : [
            row(
              button(texts.buttons.previous, goTo(Math.max(1, shown - 1)), {
                emoji: '◀️',
                isDisabled: shown === 1,
              }),
              button(texts.buttons.next, goTo(shown + 1), { emoji: '▶️', isDisabled: shown === lastPage }),
            ),
          ],
  };
}

/** Autocomplete of `/server`: `name · map · 12/32`, or that it is offline. */
export function serverChoice(server: ServerView, texts: Texts): { name: string; value: string } {
  const state = server.isOnline
    ? [server.map, `${server.playersCount}/${server.maxPlayers}`]
    : [texts.server.offline.toLowerCase()];
  const rest = ['', ...state.map((part) => cut(toPlainLine(part), 40)).filter((part) => part !== '')].join(
    ' · ',
  );
  return {
    name: `${cut(toPlainLine(server.name, server.slug), LIMITS.choiceText - rest.length)}${rest}`,
    value: server.slug,
  };
}

/** Servers that are online first, the fullest of them first; then by name. */
export function inDisplayOrder(servers: readonly ServerView[]): ServerView[] {
  return servers.toSorted(
    (a, b) =>
      Number(b.isOnline) - Number(a.isOnline) ||
      b.playersCount - a.playersCount ||
      a.name.localeCompare(b.name),
  );
}

/** Where Connect leads: Discord refuses `steam://` in buttons, so our own address redirects there. */
function connectUrl(publicUrl: string, slug: string): string {
  return `${publicUrl}/connect/${encodeURIComponent(slug)}`;
}

const PLAYERS_A_PAGE = 32;
const MENUS = 4;

function description(server: ServerView, texts: Texts): string {
  const hostname = server.hostname === server.name ? '' : escapeText(server.hostname);
  return [hostname && `*${hostname}*`, server.isOnline ? '' : statusLine(server, texts)]
    .filter(Boolean)
    .join('\n');
}

function cardFields(server: ServerView, texts: Texts): APIEmbedField[] {
  const { server: words } = texts;
  const inline = (name: string, value: string): APIEmbedField[] =>
    value === '' ? [] : [{ name, value, inline: true }];
  return [
    ...inline(words.map, escapeText(server.map)),
    ...inline(words.mode, escapeText(server.mode)),
    ...inline(words.region, escapeText(server.region)),
    ...(server.isOnline ? inline(words.players, occupancy(server)) : []),
    ...(server.isOnline ? inline(words.ping, `${server.pingMs} ms`) : []),
    ...inline(words.address, code(server.address)),
    ...(server.isOnline
      ? [{ name: words.playerCount(server.playersCount), value: playersValue(server, texts) }]
      : []),
    ...(server.updatedAt ? [{ name: '\u200b', value: updatedLine(server, texts) }] : []),
  ];
}

/** Players by score, as many as fit into one field. */
function playersValue(server: ServerView, texts: Texts): string {
  if (server.players.length === 0) return emptyList(server, texts);
  return joinLines(server.players.map(playerLine), {
    max: LIMITS.embedFieldValue,
    more: texts.server.more,
    hidden: Math.max(0, server.playersCount - server.players.length),
  });
}

function emptyList(server: ServerView, texts: Texts): string {
  if (!server.isOnline) return '';
  return server.playersCount > 0 ? texts.server.namesUnknown : texts.server.nobody;
}

function playerLine({ name, score }: { name: string; score: number }): string {
  return `\`${String(score).padStart(4)}\` ${escapeText(name, { max: 64, fallback: '?' })}`;
}

function occupancy({ playersCount, maxPlayers }: ServerView): string {
  if (maxPlayers <= 0) return String(playersCount);
  return `${playersCount}/${maxPlayers} (${Math.round((playersCount / maxPlayers) * 100)}%)`;
}

function statusLine(server: ServerView, texts: Texts): string {
  if (server.isOnline) return '';
  if (server.updatedAt === undefined) return `⚪ ${texts.server.notPolled}`;
  return `🔴 ${server.seenAt ? texts.server.offlineSince(relativeTime(server.seenAt)) : texts.server.neverSeen}`;
}

function updatedLine(server: ServerView, texts: Texts): string {
  return server.updatedAt ? texts.server.updated(relativeTime(server.updatedAt)) : '';
}

function colourOf(server: ServerView): number {
  if (!server.isOnline) return COLOURS.offline;
  return server.maxPlayers > 0 && server.playersCount >= server.maxPlayers ? COLOURS.full : COLOURS.online;
}

function listEmbed(servers: readonly ServerView[], texts: Texts) {
  const online = servers.filter(({ isOnline }) => isOnline);
  const sum = (pick: (server: ServerView) => number) =>
    online.reduce((total, server) => total + pick(server), 0);
  const totals = texts.server.totals({
    online: online.length,
    servers: servers.length,
    players: sum(({ playersCount }) => playersCount),
    capacity: sum(({ maxPlayers }) => maxPlayers),
  });
  const updatedAt = servers.reduce<Date | undefined>(
    (latest, { updatedAt: at }) => (at && (!latest || at > latest) ? at : latest),
    undefined,
  );
  const head = `**${totals}**${updatedAt ? `\n${texts.server.updated(relativeTime(updatedAt))}` : ''}`;
  return {
    title: texts.server.allServers,
    color: online.length > 0 ? COLOURS.online : COLOURS.offline,
    description:
      servers.length === 0
        ? texts.server.none
        : `${head}\n\n${joinLines(
            inDisplayOrder(servers).map((server) => listLine(server, texts)),
            { max: LIMITS.embedDescription - head.length - 2, more: texts.server.more },
          )}`,
  };
}

function listLine(server: ServerView, texts: Texts): string {
  const name = `**${escapeText(server.name, { max: 80 })}**`;
  if (!server.isOnline) return `🔴 ${name} · ${texts.server.offline.toLowerCase()}`;
  const isFull = server.maxPlayers > 0 && server.playersCount >= server.maxPlayers;
  return [
    `${isFull ? '🟠' : '🟢'} ${name}`,
    escapeText(server.map, { max: 40 }),
    `${server.playersCount}/${server.maxPlayers}`,
  ]
    .filter((part) => part !== '')
    .join(' · ');
}

/** Four menus, since a message takes five rows; of more than 100 servers the rest is reached by the option. */
function menus(servers: readonly ServerView[], texts: Texts, flag: number): Row[] {
  const options = inDisplayOrder(servers).map((server) => menuOption(server, texts));
  const rows: Row[] = [];
  for (let number = 0; number < MENUS && number * LIMITS.menuOptions < options.length; number++) {
    const placeholder = number === 0 ? texts.server.choose : texts.server.chooseNext(number + 1);
    rows.push(
      menuRow(
        toCustomId('server.open', flag, number),
        placeholder,
        options.slice(number * LIMITS.menuOptions, (number + 1) * LIMITS.menuOptions),
      ),
    );
  }
  return rows;
}

function menuOption(server: ServerView, texts: Texts): APISelectMenuOption {
  const state = server.isOnline
    ? [toPlainLine(server.map), `${server.playersCount}/${server.maxPlayers}`].filter(Boolean).join(' · ')
    : texts.server.offline;
  return {
    label: cut(toPlainLine(server.name, server.slug), LIMITS.menuOptionText),
    value: String(server.id),
    description: cut(state, LIMITS.menuOptionText),
    emoji: { name: server.isOnline ? '🟢' : '🔴' },
  };
}
