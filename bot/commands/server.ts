import { ApplicationCommandType } from 'discord.js';
import type { Command } from '../command.ts';
import { localized, stringOption } from './definition.ts';
import { completeServer, findServer } from './server-choice.ts';
import { serverComponents } from './server-components.ts';
import { renderCard, renderList, type ServerDeps } from './server-messages.ts';

/** `/server name?`: the list of all servers, or the card of one. Everything but the chart is in memory. */
export const serverCommand: Command<ServerDeps> = {
  define: () => ({
    ...localized((commands) => commands.server),
    type: ApplicationCommandType.ChatInput,
    options: [stringOption((commands) => commands.server.options.name, { autocomplete: true })],
  }),
  execute: (deps, { canModerateMembers, guildId, guildLocalization }, { strings }) => ({
    kind: 'public',
    render: () => {
      const offersPin = canModerateMembers && guildId !== undefined;
      const name = strings.name?.trim();
      if (!name) return renderList(deps, guildLocalization, offersPin);
      return renderCard(deps, findServer(deps, name), guildLocalization, offersPin);
    },
  }),
  autocomplete: (deps, { localization }, { text }) => completeServer(deps, text, localization.texts),
  components: serverComponents,
};
