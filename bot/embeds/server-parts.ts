import { type APIButtonComponent, TimestampStyles } from 'discord.js';
import { isFull, type ServerView } from '../../src/live/server-view.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import { absoluteAndRelativeTime, escapeText, relativeTime } from '../text.ts';
import { button, COLOURS } from './message.ts';

/** How much of a player's name is shown, before escaping; Steam allows 32 characters. */
const MAX_NAME_CHARACTERS = 50;

/** The colour for a server's state. */
export function colourOf(server: ServerView): number {
  if (!server.isOnline) return COLOURS.offline;
  return isFull(server) ? COLOURS.full : COLOURS.online;
}

/** Why an offline server has no details; empty for an online one. */
export function offlineLine(server: ServerView, { server: words }: Texts): string {
  if (server.isOnline) return '';
  if (server.updatedAt === undefined) return `⚪ ${words.notPolled}`;
  return `🔴 ${server.seenAt ? words.offlineSince(relativeTime(server.seenAt)) : words.neverSeen}`;
}

/** For a full server the number of players, and since when it has been full; empty for others. */
export function fullLine(server: ServerView, { server: words }: Texts): string {
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
export function playerLine({ name, score }: ServerView['players'][number]): string {
  return `\`${String(score).padStart(4)}\` ${escapeText(name, { max: MAX_NAME_CHARACTERS, fallback: '?' })}`;
}

/** Why no players are listed; empty for an offline server. */
export function noPlayersLine({ isOnline, playersCount }: ServerView, { server: words }: Texts): string {
  if (!isOnline) return '';
  return playersCount > 0 ? words.namesUnknown : words.nobody;
}

/** A button that shows all players of a server. */
export function playersButton(server: ServerView, { buttons }: Texts): APIButtonComponent {
  return button(buttons.players, toCustomId('server.players', server.id, 1), {
    emoji: '👥',
    isDisabled: server.players.length === 0,
  });
}

/** A button that posts a live status message; moderators alone may use it. @param what a server's id, or `all`. */
export function pinButton(what: number | 'all', { buttons }: Texts): APIButtonComponent {
  return button(buttons.pin, toCustomId('server.pin', what), { emoji: '📌' });
}
