import { ApplicationCommandOptionType, PermissionFlagsBits } from 'discord.js';
import type { Texts } from '../locales/en.ts';
import { en } from '../locales/en.ts';
import { pl } from '../locales/pl.ts';

/** The default permission of a command for moderators, in the form Discord takes. */
export const MODERATE_MEMBERS = String(PermissionFlagsBits.ModerateMembers);

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
