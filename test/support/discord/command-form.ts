import { ApplicationCommandType } from 'discord.js';
import { FormErrors } from './form-errors.ts';

type Texts = {
  name: string;
  name_localizations?: Record<string, string> | null;
  description?: string;
  description_localizations?: Record<string, string> | null;
};

export type FakeCommandOption = Texts & {
  type: number;
  required?: boolean;
  choices?: (Texts & { value: string | number })[];
  /** Of a subcommand. */
  options?: FakeCommandOption[];
};

export type FakeCommand = Texts & {
  type?: number;
  options?: FakeCommandOption[];
  default_member_permissions?: string | null;
  contexts?: number[] | null;
  integration_types?: number[] | null;
};

/**
 * What Discord refuses in a bulk overwrite of commands, besides what the builders of discord.js refuse to build.
 * @see https://docs.discord.com/developers/interactions/application-commands#application-command-object
 */
export function checkCommands(
  commands: FakeCommand[],
  { isGuild }: { isGuild: boolean },
): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  const names = commands.map(({ type = ApplicationCommandType.ChatInput, name }) => `${type} ${name}`);
  requireUnique(errors, 'commands', names);
  for (const [index, command] of commands.entries()) {
    const at = String(index);
    const hasContexts = Boolean(command.contexts?.length || command.integration_types?.length);
    errors.require(at, !isGuild || !hasContexts, 'Contexts are for global commands only');
    errors.require(at, countCharacters(command) <= 8000, 'At most 8000 characters');
    checkOptions(errors, at, command.options ?? []);
  }
  return errors.body();
}

function checkOptions(errors: FormErrors, at: string, options: FakeCommandOption[]): void {
  const names = options.map(({ name }) => name);
  requireUnique(errors, at, names);
  const firstOptional = options.findIndex(({ required }) => !required);
  const lastRequired = options.findLastIndex(({ required }) => required);
  errors.require(at, firstOptional === -1 || lastRequired < firstOptional, 'Required options come first');
  for (const option of options) checkOptions(errors, `${at}.options`, option.options ?? []);
}

function requireUnique(errors: FormErrors, at: string, names: string[]): void {
  errors.require(at, new Set(names).size === names.length, 'The same name twice');
}

/** The longest localisation of each text counts. */
function countCharacters(command: FakeCommand | FakeCommandOption): number {
  const longest = (text = '', localized: Record<string, string> | null = {}) =>
    Math.max(text.length, ...Object.values(localized ?? {}).map((each) => each.length));
  const sum = (amounts: number[]) => amounts.reduce((total, amount) => total + amount, 0);
  const choices = 'choices' in command ? (command.choices ?? []) : [];
  return (
    longest(command.name, command.name_localizations) +
    longest(command.description, command.description_localizations) +
    sum((command.options ?? []).map(countCharacters)) +
    sum(choices.map(({ name, name_localizations: names, value }) => longest(name, names) + `${value}`.length))
  );
}
