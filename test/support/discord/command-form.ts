import { ApplicationCommandType } from 'discord.js';
import { FormErrors } from './form-errors.ts';

type Localizations = Record<string, string> | null;
type Texts = {
  name: string;
  name_localizations?: Localizations;
  description?: string;
  description_localizations?: Localizations;
};

/** An option or a subcommand. */
export type FakeCommandOption = Texts & {
  type: number;
  required?: boolean;
  choices?: (Texts & { value: string | number })[];
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
  requireUnique(
    errors,
    commands.map(({ type = ApplicationCommandType.ChatInput, name }) => `${type} ${name}`),
  );
  for (const command of commands) {
    const hasContexts = Boolean(command.contexts?.length || command.integration_types?.length);
    errors.require(!isGuild || !hasContexts, 'Contexts are for global commands only');
    errors.require(countCharacters(command) <= 8000, 'At most 8000 characters');
    checkOptions(errors, command.options ?? []);
  }
  return errors.body();
}

function checkOptions(errors: FormErrors, options: FakeCommandOption[]): void {
  requireUnique(
    errors,
    options.map(({ name }) => name),
  );
  const firstOptional = options.findIndex(({ required }) => !required);
  const lastRequired = options.findLastIndex(({ required }) => required);
  errors.require(firstOptional === -1 || lastRequired < firstOptional, 'Required options come first');
  for (const option of options) checkOptions(errors, option.options ?? []);
}

function requireUnique(errors: FormErrors, names: string[]): void {
  errors.require(new Set(names).size === names.length, 'The same name twice');
}

/** The longest localisation of each text counts. */
function countCharacters(item: Partial<FakeCommandOption> & { value?: string | number }): number {
  const longest = (text = '', localized: Localizations = {}) =>
    Math.max(text.length, ...Object.values(localized ?? {}).map(({ length }) => length));
  return [...(item.options ?? []), ...(item.choices ?? [])].reduce(
    (sum, child) => sum + countCharacters(child),
    longest(item.name, item.name_localizations) +
      longest(item.description, item.description_localizations) +
      `${item.value ?? ''}`.length,
  );
}
