import type { SharedNameAndDescription } from 'discord.js';
import { DEFAULT_LANGUAGE } from '../../src/domain/language.ts';
import type { Texts } from '../locales/en.ts';
import { BOT_TEXTS, localizationsOf } from '../locales/localization.ts';

/** Sets the name and the description of a command or option, in all languages. */
export function localized<Builder extends SharedNameAndDescription>(
  builder: Builder,
  pick: (texts: Texts['commands']) => { name: string; description: string },
): Builder {
  const { name, description } = pick(BOT_TEXTS[DEFAULT_LANGUAGE].commands);
  return builder
    .setName(name)
    .setDescription(description)
    .setNameLocalizations(localizationsOf(({ commands }) => pick(commands).name))
    .setDescriptionLocalizations(localizationsOf(({ commands }) => pick(commands).description));
}
