import { chatInputApplicationCommandMention, inlineCode } from 'discord.js';
import type { Texts } from './locales/en.ts';

/** Ids of the registered slash commands, by name. */
export type CommandIds = Readonly<Record<string, string>>;

/** The commands that messages name. */
export type MentionedCommand = 'ban-check' | 'feed start' | 'feed stop';

/**
 * A command as messages name it: a mention, which Discord shows by the name that its reader knows and which can be pressed;
 * as plain text in the language of the message while its id is not known.
 */
export type MentionCommand = (command: MentionedCommand, texts: Texts) => string;

/** What messages call the commands, once it is `learned` which ids Discord gave them. */
export function createCommandMentions(): { mention: MentionCommand; learn: (ids: CommandIds) => void } {
  let known: CommandIds = {};
  return {
    learn: (ids) => {
      known = ids;
    },
    mention: (command, texts) => {
      const [name = '', subcommand] = command.split(' ');
      const id = Object.hasOwn(known, name) ? known[name] : undefined;
      if (id === undefined) return inlineCode(`/${plainName(command, texts)}`);
      return subcommand === undefined
        ? chatInputApplicationCommandMention(name, id)
        : chatInputApplicationCommandMention(name, subcommand, id);
    },
  };
}

function plainName(command: MentionedCommand, { commands: { banCheck, feed } }: Texts): string {
  if (command === 'ban-check') return banCheck.name;
  return `${feed.name} ${command === 'feed start' ? feed.start.name : feed.stop.name}`;
}
