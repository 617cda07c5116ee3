import { ApplicationCommandType } from 'discord.js';
import { foldText } from '../../src/fold-text.ts';
import { type Command, Refusal } from '../command.ts';
import { noticeMessage } from '../embeds/message.ts';
import { serverChoice } from '../embeds/server-list.ts';
import { type ServerView, toServerView } from '../embeds/server-view.ts';
import { LIMITS } from '../limits.ts';
import { escapeText } from '../text.ts';
import { localized, stringOption } from './definition.ts';
import { listViews, renderCard, renderList, type ServerDeps } from './server-messages.ts';

/** `/server name?` */
export const SERVER_DEFINITION: Command['data'] = {
  ...localized(({ server }) => server),
  type: ApplicationCommandType.ChatInput,
  options: [stringOption(({ server }) => server.options.name, { autocomplete: true })],
};

/** `/server`: the list of all servers, or the card of one. All of it but the chart comes from memory. */
export function serverCommand(deps: ServerDeps): Command {
  return {
    data: SERVER_DEFINITION,
    execute: ({ canModerateMembers, guildId, guildLocalization }, { strings }) => ({
      kind: 'public',
      render: () => {
        const offersPin = canModerateMembers && guildId !== undefined;
        const name = strings.name?.trim();
        if (!name) return renderList(deps, guildLocalization, offersPin);
        const server = findServer(deps, name);
        if (server) return renderCard(deps, server, guildLocalization, offersPin);
        throw new Refusal(({ refusals }) =>
          noticeMessage(refusals.serverNotFound(escapeText(name, { max: 64 }))),
        );
      },
    }),
    autocomplete: ({ localization }, typed) => {
      const wanted = foldText(typed.trim());
      return listViews(deps)
        .filter(({ name, slug, map }) => [name, slug, map].some((text) => foldText(text).includes(wanted)))
        .map((server) => serverChoice(server, localization.texts))
        .filter(({ value }) => value.length <= LIMITS.choiceText)
        .slice(0, LIMITS.choices);
    },
  };
}

/** By its slug or whole name: autocomplete only suggests, and any text may arrive. */
function findServer({ servers }: ServerDeps, text: string): ServerView | undefined {
  const status =
    servers.findBySlug(text) ??
    servers.findBySlug(text.toLowerCase()) ??
    servers.current().find(({ server }) => foldText(server.name) === foldText(text));
  return status && toServerView(status);
}
