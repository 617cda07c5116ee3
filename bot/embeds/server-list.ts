import type { APIEmbed, APISelectMenuOption } from 'discord.js';
import { isolate } from '../../src/domain/text/isolate.ts';
import { isFull, type ServerView } from '../../src/live/server-view.ts';
import type { Texts } from '../locales/en.ts';
import { toCustomId } from './custom-id.ts';
import { LIMITS } from './discord-limits.ts';
import { button, COLOURS, linkButton, type MessageView, menuRow, type Row, row } from './message-view.ts';
import { pinButton, uncheckedLine, updatedLine } from './server-card.ts';
import type { SitePages } from './site-pages.ts';
import { cut, escapeText, joinLines, toPlainLine } from './text.ts';

/** A message has five rows, one of them for buttons. Servers that do not fit can be chosen by the command's option. */
const MAX_MENUS = 4;

/** All servers, in the order of `compareServerViews`, with totals, and menus that open the card of one. */
export function serverList(
  servers: readonly ServerView[],
  { texts, pages, offersPin }: { texts: Texts; pages: SitePages; offersPin: boolean },
): MessageView {
  const flag = offersPin ? 1 : 0;
  return {
    embeds: [listEmbed(servers, texts)],
    components: [
      ...menuRows(servers, texts, flag),
      row(
        button(texts.buttons.refresh, toCustomId('server.list', flag), { emoji: '🔄' }),
        ...(offersPin ? [pinButton('all', texts)] : []),
        linkButton(texts.buttons.site, pages.home),
      ),
    ],
  };
}

/** All servers as a live status message. */
export function liveServerList(
  servers: readonly ServerView[],
  { texts, pages }: { texts: Texts; pages: SitePages },
): MessageView {
  return {
    embeds: [{ ...listEmbed(servers, texts), footer: { text: texts.server.live } }],
    components: [...menuRows(servers, texts, 0), row(linkButton(texts.buttons.site, pages.home))],
  };
}

/** A suggestion of `/server`: `name · map · 12/32`, or the name and that it is offline. */
export function serverChoice(server: ServerView, texts: Texts): { name: string; value: string } {
  const rest = ` · ${stateOf(server, texts, plainMap)}`;
  return {
    name: `${isolate(cut(toPlainLine(server.name, server.slug), LIMITS.choiceText - rest.length - 2))}${rest}`,
    value: server.slug,
  };
}

function listEmbed(servers: readonly ServerView[], texts: Texts): APIEmbed {
  const { server: words } = texts;
  const online = servers.filter(({ isOnline }) => isOnline);
  const sum = (pick: (server: ServerView) => number) =>
    online.reduce((total, server) => total + pick(server), 0);
  const totals = words.totals({
    online: online.length,
    servers: servers.length,
    players: sum(({ playersCount }) => playersCount),
    capacity: sum(({ maxPlayers }) => maxPlayers),
  });
  const [latest] = servers
    .filter(({ updatedAt }) => updatedAt !== undefined)
    .sort((a, b) => Number(b.updatedAt) - Number(a.updatedAt));
  const head = latest?.uncheckedSince
    ? uncheckedLine(latest.uncheckedSince, words)
    : [`**${totals}**`, latest && updatedLine(latest, texts)].filter(Boolean).join('\n');
  const lines = servers.map((server) => listLine(server, texts));
  const max = LIMITS.embedDescription - head.length - 2;
  return {
    title: words.allServers,
    color: online.length > 0 ? COLOURS.online : COLOURS.offline,
    description:
      servers.length === 0 ? words.none : `${head}\n\n${joinLines(lines, { max, more: words.more })}`,
  };
}

function listLine(server: ServerView, texts: Texts): string {
  const emoji = isFull(server) ? '🟠' : emojiOf(server);
  const state = stateOf(server, texts, (map) => escapeText(map, { max: 40 }));
  return `${emoji} **${escapeText(server.name, { max: 80 })}** · ${state}`;
}

function emojiOf({ isOnline, uncheckedSince }: ServerView): string {
  if (uncheckedSince) return '⚪';
  return isOnline ? '🟢' : '🔴';
}

/** `de_mirage · 12/32`, or that a server is offline, or that this is not known. @param show how the map is written. */
function stateOf(server: ServerView, texts: Texts, show: (map: string) => string): string {
  if (!server.isOnline) return offlineWord(server, texts).toLowerCase();
  return [show(server.map), `${server.playersCount}/${server.maxPlayers}`].filter(Boolean).join(' · ');
}

function plainMap(map: string): string {
  return isolate(cut(toPlainLine(map), 40));
}

function menuRows(servers: readonly ServerView[], texts: Texts, flag: number): Row[] {
  const options = servers.map((server) => menuOption(server, texts));
  const rows: Row[] = [];
  for (let number = 0; number < MAX_MENUS && number * LIMITS.menuOptions < options.length; number++) {
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

function offlineWord({ uncheckedSince }: ServerView, { server: words }: Texts): string {
  return uncheckedSince ? words.unchecked : words.offline;
}

function menuOption(server: ServerView, texts: Texts): APISelectMenuOption {
  return {
    label: cut(toPlainLine(server.name, server.slug), LIMITS.menuOptionText),
    value: String(server.id),
    description: server.isOnline ? stateOf(server, texts, plainMap) : offlineWord(server, texts),
    emoji: { name: emojiOf(server) },
  };
}
