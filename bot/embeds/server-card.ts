import type { APIEmbedField } from 'discord.js';
import type { ServerView } from '../../src/live/server-view.ts';
import { LIMITS } from '../discord-limits.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import type { SitePages } from '../site-pages.ts';
import { code, escapeText, joinLines } from '../text.ts';
import { type Attachment, button, linkButton, type MessageView, type Row, row } from './message.ts';
import {
  colourOf,
  fullLine,
  noPlayersLine,
  offlineLine,
  pinButton,
  playerLine,
  playersButton,
  updatedLine,
} from './server-parts.ts';

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
