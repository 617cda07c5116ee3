import {
  type APIApplicationCommandBasicOption,
  ApplicationCommandOptionType,
  type LocalizationMap,
} from 'discord.js';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import type { Texts } from '../locales/en.ts';
import { BOT_TEXTS, localizationsOf } from '../locales/localization.ts';
import { MANAGER_PERMISSION, MODERATOR_PERMISSION } from '../permissions.ts';

/** `default_member_permissions` of a command for moderators: a bit set as a decimal string. */
export const FOR_MODERATORS = String(MODERATOR_PERMISSION);
/** `default_member_permissions` of a command for members who manage the guild: a bit set as a decimal string. */
export const FOR_MANAGERS = String(MANAGER_PERMISSION);

type Named = { name: string; description: string };

/** Name and description of a command or option, in the default language and in the others. */
export type Localized = Named & {
  name_localizations: LocalizationMap;
  description_localizations: LocalizationMap;
};
type Option<Type extends ApplicationCommandOptionType> = Localized & { type: Type; required: boolean };
type Choice<Value> = { name: string; name_localizations: LocalizationMap; value: Value };

/** Name and description of a command in all languages. */
export function localized(pick: (texts: Texts['commands']) => Named): Localized {
  const { name, description } = pick(BOT_TEXTS[DEFAULT_LANGUAGE].commands);
  return {
    name,
    description,
    name_localizations: localizationsOf(({ commands }) => pick(commands).name),
    description_localizations: localizationsOf(({ commands }) => pick(commands).description),
  };
}

/** An optional text. */
export function stringOption(
  pick: (texts: Texts['commands']) => Named,
  { autocomplete = false } = {},
): Option<ApplicationCommandOptionType.String> & { autocomplete?: true } {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.String,
    required: false,
    ...(autocomplete && { autocomplete }),
  };
}

/** An optional Discord user. */
export function userOption(
  pick: (texts: Texts['commands']) => Named,
): Option<ApplicationCommandOptionType.User> {
  return { ...localized(pick), type: ApplicationCommandOptionType.User, required: false };
}

/** An optional yes or no. */
export function booleanOption(
  pick: (texts: Texts['commands']) => Named,
): Option<ApplicationCommandOptionType.Boolean> {
  return { ...localized(pick), type: ApplicationCommandOptionType.Boolean, required: false };
}

/** A required text with fixed choices. */
export function choiceOption<Value extends string>(
  pick: (texts: Texts['commands']) => Named,
  choices: readonly Value[],
  label: (texts: Texts, value: Value) => string,
): Option<ApplicationCommandOptionType.String> & { choices: Choice<Value>[] } {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.String,
    required: true,
    choices: choices.map((value) => ({
      name: label(BOT_TEXTS[DEFAULT_LANGUAGE], value),
      name_localizations: localizationsOf((texts) => label(texts, value)),
      value,
    })),
  };
}

/** An optional whole number. */
export function integerOption(
  pick: (texts: Texts['commands']) => Named,
  { min, max }: { min: number; max: number },
): Option<ApplicationCommandOptionType.Integer> & { min_value: number; max_value: number } {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.Integer,
    required: false,
    min_value: min,
    max_value: max,
  };
}

/** An optional role of the guild. */
export function roleOption(
  pick: (texts: Texts['commands']) => Named,
): Option<ApplicationCommandOptionType.Role> {
  return { ...localized(pick), type: ApplicationCommandOptionType.Role, required: false };
}

/** A subcommand, which has no permissions of its own. */
export function subcommand(
  pick: (texts: Texts['commands']) => Named,
  options: APIApplicationCommandBasicOption[] = [],
): Localized & {
  type: ApplicationCommandOptionType.Subcommand;
  options: APIApplicationCommandBasicOption[];
} {
  return { ...localized(pick), type: ApplicationCommandOptionType.Subcommand, options };
}
