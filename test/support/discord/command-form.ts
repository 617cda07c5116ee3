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

const CHAT_INPUT = 1;
const SUBCOMMAND = 1;
/** https://docs.discord.com/developers/interactions/application-commands#application-command-object-application-command-naming */
const CHAT_INPUT_NAME = /^[-_'\p{L}\p{N}\p{sc=Deva}\p{sc=Thai}]{1,32}$/u;
/** https://docs.discord.com/developers/reference#locales */
const LOCALES = new Set(
  'id da de en-GB en-US es-ES es-419 fr hr it lt hu nl no pl pt-BR ro fi sv-SE vi tr cs el bg ru uk hi th zh-CN ja zh-TW ko'.split(
    ' ',
  ),
);

/**
 * What Discord refuses in a bulk overwrite of commands.
 * @see https://docs.discord.com/developers/interactions/application-commands#application-command-object
 */
export function checkCommands(
  commands: FakeCommand[],
  { isGuild }: { isGuild: boolean },
): Record<string, unknown> | undefined {
  const errors = new FormErrors();
  const limits: Record<number, number> = { 1: 100, 2: 15, 3: 15 };
  for (const [type, limit] of Object.entries(limits)) {
    const count = commands.filter((command) => (command.type ?? CHAT_INPUT) === Number(type)).length;
    if (count > limit)
      errors.add('commands', 'APPLICATION_COMMAND_TOO_MANY', `At most ${limit} of type ${type}`);
  }
  const names = new Set<string>();
  for (const [index, command] of commands.entries()) {
    checkCommand(errors, String(index), command, isGuild);
    const key = `${command.type ?? CHAT_INPUT}:${command.name}`;
    if (names.has(key))
      errors.add(`${index}.name`, 'APPLICATION_COMMANDS_DUPLICATE_NAME', 'Command names must be unique');
    names.add(key);
  }
  return errors.body();
}

function checkCommand(errors: FormErrors, at: string, command: FakeCommand, isGuild: boolean): void {
  const isChatInput = (command.type ?? CHAT_INPUT) === CHAT_INPUT;
  checkName(errors, `${at}.name`, command.name, isChatInput);
  for (const [locale, name] of Object.entries(command.name_localizations ?? {})) {
    checkLocale(errors, `${at}.name_localizations`, locale);
    checkName(errors, `${at}.name_localizations.${locale}`, name, isChatInput);
  }
  if (isChatInput) errors.text(`${at}.description`, command.description, { max: 100 });
  else if (command.description) {
    errors.add(
      `${at}.description`,
      'CONTEXT_MENU_DESCRIPTION',
      'Context menu commands cannot have description',
    );
  }
  for (const [locale, text] of Object.entries(command.description_localizations ?? {})) {
    checkLocale(errors, `${at}.description_localizations`, locale);
    errors.text(`${at}.description_localizations.${locale}`, text, { max: 100 });
  }
  if (!isChatInput && command.options?.length) {
    errors.add(`${at}.options`, 'CONTEXT_MENU_OPTIONS', 'Context menu commands cannot have options');
  }
  checkOptions(errors, `${at}.options`, command.options ?? []);
  const permissions = command.default_member_permissions;
  if (typeof permissions === 'string' && !/^[0-9]+$/.test(permissions)) {
    errors.add(`${at}.default_member_permissions`, 'INVALID_BITWISE', 'Not a bit set');
  }
  if (isGuild && (command.contexts?.length || command.integration_types?.length)) {
    errors.add(at, 'APPLICATION_COMMAND_CONTEXTS_NOT_ALLOWED', 'Contexts are for global commands only');
  }
  if (countCharacters(command) > 8000) {
    errors.add(at, 'APPLICATION_COMMAND_TOO_LARGE', 'Command exceeds maximum size (8000)');
  }
}

function checkOptions(errors: FormErrors, at: string, options: FakeCommandOption[]): void {
  errors.count(at, options, { max: 25 });
  const names = new Set<string>();
  let optionalSeen = false;
  for (const [index, option] of options.entries()) {
    const path = `${at}.${index}`;
    checkName(errors, `${path}.name`, option.name, true);
    errors.text(`${path}.description`, option.description, { max: 100 });
    for (const [locale, name] of Object.entries(option.name_localizations ?? {})) {
      checkLocale(errors, `${path}.name_localizations`, locale);
      checkName(errors, `${path}.name_localizations.${locale}`, name, true);
    }
    for (const [locale, text] of Object.entries(option.description_localizations ?? {})) {
      checkLocale(errors, `${path}.description_localizations`, locale);
      errors.text(`${path}.description_localizations.${locale}`, text, { max: 100 });
    }
    errors.count(`${path}.choices`, option.choices ?? [], { max: 25 });
    if (option.autocomplete && option.choices?.length) {
      errors.add(path, 'APPLICATION_COMMAND_AUTOCOMPLETE_CHOICES', 'Autocomplete excludes choices');
    }
    if (option.required && optionalSeen) {
      errors.add(
        path,
        'APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID',
        'Required options must be placed before non-required options',
      );
    }
    optionalSeen ||= !option.required;
    checkOptions(errors, `${path}.options`, option.options ?? []);
    const isSubcommand = option.type === SUBCOMMAND;
    if (isSubcommand !== (options[0]?.type === SUBCOMMAND)) {
      errors.add(path, 'APPLICATION_COMMAND_OPTIONS_TYPE_INVALID', 'Subcommands stand alone');
    }
    if (names.has(option.name))
      errors.add(`${path}.name`, 'APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS', 'Duplicate');
    names.add(option.name);
  }
}

function checkName(errors: FormErrors, at: string, name: unknown, isChatInput: boolean): void {
  errors.text(at, name, { max: 32 });
  if (!isChatInput || typeof name !== 'string') return;
  if (!CHAT_INPUT_NAME.test(name) || name !== name.toLowerCase()) {
    errors.add(at, 'APPLICATION_COMMAND_INVALID_NAME', 'Command name is invalid');
  }
}

function checkLocale(errors: FormErrors, at: string, locale: string): void {
  if (!LOCALES.has(locale)) errors.add(at, 'DICT_TYPE_CONVERT_KEY', `${locale} is not a locale`);
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
