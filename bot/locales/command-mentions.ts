import { chatInputApplicationCommandMention, inlineCode } from 'discord.js';
import type { Texts } from './en.ts';

/** Ids of the registered slash commands, by name. */
export type CommandIds = Readonly<Record<string, string>>;

/** The commands that messages mention. */
type MentionedCommand = 'ban-check' | 'feed start' | 'feed stop' | 'notify off' | 'notify on';

/**
 * Formats a command in a message: as a clickable mention, which Discord shows in each reader's language, or as plain
 * text in the language of the message until the command's id is known.
 */
export type MentionCommand = (command: MentionedCommand, texts: Texts) => string;

/** Formats commands in messages; `setIds` is called once the commands are registered. */
export function createCommandMentions(): { mention: MentionCommand; setIds: (ids: CommandIds) => void } {
  let idsByName: CommandIds = {};
  return {
    setIds: (ids) => {
      idsByName = ids;
    },
    mention: (command, texts) => {
      const [name = '', subcommand] = command.split(' ');
      const id = Object.hasOwn(idsByName, name) ? idsByName[name] : undefined;
      if (id === undefined) return inlineCode(`/${plainName(command, texts)}`);
      return subcommand === undefined
        ? chatInputApplicationCommandMention(name, id)
        : chatInputApplicationCommandMention(name, subcommand, id);
    },
  };
}

function plainName(command: MentionedCommand, { commands: { banCheck, feed, notify } }: Texts): string {
  const paths: Record<MentionedCommand, { name: string }[]> = {
    'ban-check': [banCheck],
    'feed start': [feed, feed.start],
    'feed stop': [feed, feed.stop],
    'notify off': [notify, notify.off],
    'notify on': [notify, notify.on],
  };
  return paths[command].map(({ name }) => name).join(' ');
}
