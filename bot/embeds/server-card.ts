import { type APIButtonComponent, type APIEmbedField, TimestampStyles } from 'discord.js';
import { isFull, type ServerView } from '../../src/live/server-view.ts';
import type { Texts } from '../locales/en.ts';
import { toCustomId } from './custom-id.ts';
import { LIMITS } from './discord-limits.ts';
import {
  type Attachment,
  button,
  COLOURS,
  linkButton,
  type MessageView,
  type Row,
  row,
} from './message-view.ts';
import type { SitePages } from './site-pages.ts';
import { absoluteAndRelativeTime, code, cut, escapeText, joinLines, relativeTime } from './text.ts';

/** How much of a player's name is shown, before escaping; Steam allows 32 characters. */
const MAX_NAME_CHARACTERS = 50;

/** So few that even the longest lines fit on a page: a player who is cut from a page would be on no other. */
const PLAYERS_PER_PAGE = 32;
/** Leaves room in the description for the text around the list. */
const MAX_LIST_CHARACTERS = 3800;

type CardOptions = {
  texts: Texts;
  pages: SitePages;
  /** Whether there is a button for a live status message. */
  offersPin: boolean;
  chart?: Attachment | undefined;
};

/** The card of one server. */
export function serverCard(server: ServerView, { texts, pages, offersPin, chart }: CardOptions): MessageView {
  const flag = offersPin ? 1 : 0;
  const description = descriptionOf(server, texts);
  return {
    embeds: [
      {
        title: escapeText(server.name),
        color: colourOf(server),
        ...(description !== '' && { description }),
        fields: cardFields(server, texts),
        ...(chart && { image: { url: `attachment://${chart.name}` } }),
      },
    ],
    components: [
      row(
        button(texts.buttons.refresh, toCustomId('server.refresh', server.id, flag), { emoji: '🔄' }),
        playersButton(server, texts),
        button(texts.buttons.allServers, toCustomId('server.list', flag), { emoji: '📋' }),
        ...(offersPin ? [pinButton(server.id, texts)] : []),
      ),
      linksRow(server, { texts, pages }),
    ],
    ...(chart && { files: [chart] }),
  };
}

/** The card as a live status message: it has no button that changes the message. */
export function liveServerCard(
  server: ServerView,
  { texts, pages }: { texts: Texts; pages: SitePages },
): MessageView {
  const card = serverCard(server, { texts, pages, offersPin: false });
  return {
    embeds: card.embeds.map((embed) => ({ ...embed, footer: { text: texts.server.live } })),
    components: [row(playersButton(server, texts)), linksRow(server, { texts, pages })],
  };
}

/** Buttons that lead to the game, unless the server is offline, and to the server's page. */
export function linksRow(
  { isOnline, slug }: ServerView,
  { texts: { buttons }, pages }: { texts: Texts; pages: SitePages },
): Row {
  return row(
    ...(isOnline ? [linkButton(buttons.connect, pages.connect(slug))] : []),
    linkButton(buttons.site, pages.server(slug)),
  );
}

function descriptionOf(server: ServerView, texts: Texts): string {
  const hostname = server.hostname === server.name ? '' : escapeText(server.hostname);
  return [hostname && `*${hostname}*`, offlineLine(server, texts), fullLine(server, texts)]
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
    ...(server.isOnline ? inline(words.ping, words.milliseconds(server.pingMs)) : []),
    ...inline(words.address, code(server.address)),
    ...(server.isOnline
      ? [{ name: words.playerCount(server.playersCount), value: playersValue(server, texts) }]
      : []),
    ...(server.updatedAt ? [{ name: '\u200b', value: updatedLine(server, texts) }] : []),
  ];
}

/** Players by score, as many as fit into one field. */
function playersValue(server: ServerView, texts: Texts): string {
  if (server.players.length === 0) return noPlayersLine(server, texts);
  return joinLines(server.players.map(playerLine), {
    max: LIMITS.embedFieldValue,
    more: texts.server.more,
    hidden: Math.max(0, server.playersCount - server.players.length),
  });
}

/** `12/32 (38%)`. */
function occupancy({ playersCount, maxPlayers }: ServerView): string {
  if (maxPlayers <= 0) return String(playersCount);
  return `${playersCount}/${maxPlayers} (${Math.round((playersCount / maxPlayers) * 100)}%)`;
}

/** Everyone on a server, page by page. @param page past the last one: the last. */
export function playerList(server: ServerView, page: number, { texts }: { texts: Texts }): MessageView {
  const lastPage = Math.max(1, Math.ceil(server.players.length / PLAYERS_PER_PAGE));
  const current = Math.min(Math.max(1, page), lastPage);
  const players = server.players.slice((current - 1) * PLAYERS_PER_PAGE, current * PLAYERS_PER_PAGE);
  const list = joinLines(players.map(playerLine), { max: MAX_LIST_CHARACTERS, more: texts.server.more });
  const goTo = (target: number) => toCustomId('server.players', server.id, target, 'turn');
  const pager = row(
    button(texts.buttons.previous, goTo(Math.max(1, current - 1)), { emoji: '◀️', isDisabled: current === 1 }),
    button(texts.buttons.next, goTo(current + 1), { emoji: '▶️', isDisabled: current === lastPage }),
  );
  return {
    embeds: [
      {
        title: cut(texts.server.playersOf(escapeText(server.name, { max: 100 })), LIMITS.embedTitle),
        color: colourOf(server),
        description: [
          offlineLine(server, texts),
          players.length > 0 ? list : noPlayersLine(server, texts),
          updatedLine(server, texts),
        ]
          .filter((part) => part !== '')
          .join('\n\n'),
      },
    ],
    components: lastPage === 1 ? [] : [pager],
  };
}

/** The colour for a server's state. */
function colourOf(server: ServerView): number {
  if (!server.isOnline) return COLOURS.offline;
  return isFull(server) ? COLOURS.full : COLOURS.online;
}

/** Why an offline server has no details; empty for an online one. */
function offlineLine(server: ServerView, { server: words }: Texts): string {
  if (server.isOnline) return '';
  if (server.updatedAt === undefined) return `⚪ ${words.notPolled}`;
  if (server.uncheckedSince) return uncheckedLine(server.uncheckedSince, words);
  return `🔴 ${server.seenAt ? words.offlineSince(relativeTime(server.seenAt)) : words.neverSeen}`;
}

/** Since when nobody has checked a server, or any. */
export function uncheckedLine(since: Date, { uncheckedSince }: Texts['server']): string {
  return `⚪ ${uncheckedSince(absoluteAndRelativeTime(since, TimestampStyles.ShortDateTime))}`;
}

/** For a full server the number of players, and since when it has been full; empty for others. */
function fullLine(server: ServerView, { server: words }: Texts): string {
  const { playersCount: players, maxPlayers, fullSince } = server;
  if (!isFull(server) || fullSince === undefined) return '';
  const since = absoluteAndRelativeTime(fullSince, TimestampStyles.ShortTime);
  return `🟠 ${words.full({ players, maxPlayers, since })}`;
}

/** How old the data is; empty before the first poll. */
export function updatedLine({ updatedAt }: Pick<ServerView, 'updatedAt'>, { server: words }: Texts): string {
  return updatedAt ? words.updated(relativeTime(updatedAt)) : '';
}

/**
 * Score and name of one player: at most 114 characters, since escaping at most doubles the name, and a score is a 32-bit
 * integer.
 */
function playerLine({ name, score }: ServerView['players'][number]): string {
  return `\`${String(score).padStart(4)}\` ${escapeText(name, { max: MAX_NAME_CHARACTERS, fallback: '?' })}`;
}

/** Why no players are listed; empty for an offline server. */
function noPlayersLine({ isOnline, playersCount }: ServerView, { server: words }: Texts): string {
  if (!isOnline) return '';
  return playersCount > 0 ? words.namesUnknown : words.nobody;
}

/** A button that shows all players of a server. */
function playersButton(server: ServerView, { buttons }: Texts): APIButtonComponent {
  return button(buttons.players, toCustomId('server.players', server.id, 1), {
    emoji: '👥',
    isDisabled: server.players.length === 0,
  });
}

/** A button that posts a live status message; only moderators may use it. @param what a server's id, or `all`. */
export function pinButton(what: number | 'all', { buttons }: Texts): APIButtonComponent {
  return button(buttons.pin, toCustomId('server.pin', what), { emoji: '📌' });
}
