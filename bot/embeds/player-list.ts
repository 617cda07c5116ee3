import type { ServerView } from '../../src/live/server-view.ts';
import { LIMITS } from '../discord-limits.ts';
import { toCustomId } from '../interactions/custom-id.ts';
import type { Texts } from '../locales/en.ts';
import { cut, escapeText, joinLines } from '../text.ts';
import { button, type MessageView, row } from './message.ts';
import { colourOf, noPlayersLine, offlineLine, playerLine, updatedLine } from './server-parts.ts';

/** So few that even the longest lines fit on a page: a player who is cut from a page would be on no other. */
const PLAYERS_PER_PAGE = 32;
/** Leaves room in the description for the text around the list. */
const MAX_LIST_CHARACTERS = 3800;

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
