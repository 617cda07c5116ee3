import { ApplicationCommandType } from 'discord.js';
import type { Command } from '../command.ts';
import { localized, stringOption } from './definition.ts';
import { completeServer, findServer } from './server-choice.ts';
import { renderCard, renderList, type ServerDeps } from './server-messages.ts';

/** `/server name?` */
export function serverDefinition(): Command['data'] {
  return {
    ...localized(({ server }) => server),
    type: ApplicationCommandType.ChatInput,
    options: [stringOption(({ server }) => server.options.name, { autocomplete: true })],
  };
}

/** `/server`: the list of all servers, or the card of one. Everything but the chart is in memory. */
export function serverCommand(deps: ServerDeps): Command {
  return {
    data: serverDefinition(),
    execute: ({ canModerateMembers, guildId, guildLocalization }, { strings }) => ({
      kind: 'public',
      render: () => {
        const offersPin = canModerateMembers && guildId !== undefined;
        const name = strings.name?.trim();
        if (!name) return renderList(deps, guildLocalization, offersPin);
        return renderCard(deps, findServer(deps, name), guildLocalization, offersPin);
      },
    }),
    autocomplete: ({ localization }, typed) => completeServer(deps, typed, localization.texts),
  };
}
