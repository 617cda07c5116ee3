import {
  ApplicationCommandOptionType,
  ApplicationCommandType,
  ContextMenuCommandAssertions,
  SlashCommandAssertions,
} from 'discord.js';
import { FormErrors } from './form-errors.ts';

export type FakeCommandOption = {
  type: number;
  name: string;
  name_localizations?: Record<string, string> | null;
  description: string;
  description_localizations?: Record<string, string> | null;
  required?: boolean;
  autocomplete?: boolean;
  choices?: { name: string; name_localizations?: Record<string, string> | null; value: string | number }[];
  min_length?: number;
  max_length?: number;
  /** Of a subcommand. */
  options?: FakeCommandOption[];
};

export type FakeCommand = {
  type?: number;
  name: string;
  name_localizations?: Record<string, string> | null;
  description?: string;
  description_localizations?: Record<string, string> | null;
  options?: FakeCommandOption[];
  default_member_permissions?: string | null;
  contexts?: number[] | null;
  integration_types?: number[] | null;
  nsfw?: boolean;
};

const { ChatInput } = ApplicationCommandType;

/**
 * What Discord refuses in a bulk overwrite of commands, by the validators of discord.js's builders and its documentation.
 * @see https://docs.discord.com/developers/interactions/application-commands#application-command-object
 */
export function checkCommands(
  commands: FakeCommand[],
  { isGuild }: { isGuild: boolean },
): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  for (const [type, most] of [
    [ChatInput, 100],
    [ApplicationCommandType.User, 15],
    [ApplicationCommandType.Message, 15],
  ] as const) {
    const ofType = commands.filter((command) => (command.type ?? ChatInput) === type);
    errors.require('commands', ofType.length <= most, `At most ${most} of type ${type}`);
    requireUniqueNames(errors, 'commands', ofType);
  }
  for (const [index, command] of commands.entries()) checkCommand(errors, String(index), command, isGuild);
  return errors.body();
}

function checkCommand(errors: FormErrors, at: string, command: FakeCommand, isGuild: boolean): void {
  const { type = ChatInput, options = [] } = command;
  if (type === ChatInput) {
    checkTexts(errors, at, command);
    checkOptions(errors, at, options);
  } else {
    errors.check(at, () => ContextMenuCommandAssertions.validateRequiredParameters(command.name, type));
    errors.require(at, !command.description && options.length === 0, 'A menu has no description or options');
  }
  errors.check(at, () =>
    SlashCommandAssertions.validateDefaultMemberPermissions(command.default_member_permissions),
  );
  const hasContexts = Boolean(command.contexts?.length || command.integration_types?.length);
  errors.require(at, !isGuild || !hasContexts, 'Contexts are for global commands only');
  errors.require(at, countCharacters(command) <= 8000, 'At most 8000 characters');
}

/** The name and description, in every language. */
function checkTexts(errors: FormErrors, at: string, texts: FakeCommand | FakeCommandOption): void {
  const { name_localizations: names, description_localizations: descriptions } = texts;
  for (const name of [texts.name, ...Object.values(names ?? {})]) {
    errors.check(`${at}.name`, () => SlashCommandAssertions.validateName(name));
  }
  for (const description of [texts.description, ...Object.values(descriptions ?? {})]) {
    errors.check(`${at}.description`, () => SlashCommandAssertions.validateDescription(description));
  }
  for (const locale of Object.keys({ ...names, ...descriptions })) {
    errors.check(`${at}.${locale}`, () => SlashCommandAssertions.validateLocale(locale));
  }
}

function checkOptions(errors: FormErrors, at: string, options: FakeCommandOption[]): void {
  errors.check(at, () => SlashCommandAssertions.validateMaxOptionsLength(options));
  requireUniqueNames(errors, at, options);
  const firstOptional = options.findIndex(({ required }) => !required);
  const lastRequired = options.findLastIndex(({ required }) => required);
  errors.require(at, firstOptional === -1 || lastRequired < firstOptional, 'Required options come first');
  const subcommands = options.filter(({ type }) => type === ApplicationCommandOptionType.Subcommand).length;
  errors.require(at, subcommands === 0 || subcommands === options.length, 'Subcommands stand alone');
  for (const [index, option] of options.entries()) {
    const path = `${at}.options.${index}`;
    const { choices = [] } = option;
    checkTexts(errors, path, option);
    errors.check(path, () => SlashCommandAssertions.validateChoicesLength(choices.length));
    errors.require(path, !option.autocomplete || choices.length === 0, 'Autocomplete excludes choices');
    checkOptions(errors, path, option.options ?? []);
  }
}

function requireUniqueNames(errors: FormErrors, at: string, parts: readonly { name: string }[]): void {
  const names = new Set(parts.map(({ name }) => name));
  errors.require(at, names.size === parts.length, 'The same name twice');
}

/** The longest localisation of each text counts. */
function countCharacters(command: FakeCommand | FakeCommandOption): number {
  const longest = (text = '', localized: Record<string, string> | null = {}) =>
    Math.max(text.length, ...Object.values(localized ?? {}).map((each) => each.length), 0);
  const own =
    longest(command.name, command.name_localizations) +
    longest(command.description, command.description_localizations);
  return (command.options ?? []).reduce(
    (sum, option) =>
      sum +
      countCharacters(option) +
      (option.choices ?? []).reduce(
        (total, choice) =>
          total + longest(choice.name, choice.name_localizations) + String(choice.value).length,
        0,
      ),
    own,
  );
}
