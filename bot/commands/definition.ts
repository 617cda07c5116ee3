import { type APIApplicationCommandBasicOption, ApplicationCommandOptionType } from 'discord.js';
import type { Texts } from '../locales/en.ts';
import { en } from '../locales/en.ts';
import { pl } from '../locales/pl.ts';
import { MANAGER_PERMISSION, MODERATOR_PERMISSION } from '../permissions.ts';

/** `default_member_permissions` of a command for moderators: a bit set as a decimal string. */
export const FOR_MODERATORS = String(MODERATOR_PERMISSION);
/** `default_member_permissions` of a command for those who manage the guild. */
export const FOR_MANAGERS = String(MANAGER_PERMISSION);

type Named = { name: string; description: string };

/** Name and description of a command in all languages. */
export function localized(pick: (texts: Texts['commands']) => Named) {
  const [base, polish] = [pick(en.commands), pick(pl.commands)];
  return {
    name: base.name,
    name_localizations: { pl: polish.name },
    description: base.description,
    description_localizations: { pl: polish.description },
  };
}

/** An optional text. */
export function stringOption(pick: (texts: Texts['commands']) => Named, { autocomplete = false } = {}) {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.String as const,
    required: false,
    ...(autocomplete && { autocomplete }),
  };
}

/** An optional Discord user. */
export function userOption(pick: (texts: Texts['commands']) => Named) {
  return { ...localized(pick), type: ApplicationCommandOptionType.User as const, required: false };
}

/** An optional yes or no. */
export function booleanOption(pick: (texts: Texts['commands']) => Named) {
  return { ...localized(pick), type: ApplicationCommandOptionType.Boolean as const, required: false };
}

/** A required text with fixed choices. */
export function choiceOption<Value extends string>(
  pick: (texts: Texts['commands']) => Named,
  choices: readonly Value[],
  label: (texts: Texts, value: Value) => string,
) {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.String as const,
    required: true,
    choices: choices.map((value) => ({
      name: label(en, value),
      name_localizations: { pl: label(pl, value) },
      value,
    })),
  };
}

/** An optional whole number. */
export function integerOption(
  pick: (texts: Texts['commands']) => Named,
  { min, max }: { min: number; max: number },
) {
  return {
    ...localized(pick),
    type: ApplicationCommandOptionType.Integer as const,
    required: false,
    min_value: min,
    max_value: max,
  };
}

/** An optional role of the guild. */
export function roleOption(pick: (texts: Texts['commands']) => Named) {
  return { ...localized(pick), type: ApplicationCommandOptionType.Role as const, required: false };
}

/** A subcommand. */
export function subcommand(
  pick: (texts: Texts['commands']) => Named,
  options: APIApplicationCommandBasicOption[] = [],
) {
  return { ...localized(pick), type: ApplicationCommandOptionType.Subcommand as const, options };
}
