import { foldText } from '../../src/domain/text/fold-text.ts';
import { LIMITS } from '../embeds/discord-limits.ts';
import type { Choice } from './command.ts';

/** What separates the name in a label from what else it says, such as the number of players. */
const SEPARATOR = ' · ';

/** The choices whose label or value contains the typed text, at most as many as Discord shows. */
export function completeChoices(choices: readonly Choice[], typed: string): Choice[] {
  return choices.filter((choice) => containsText(choice, foldText(typed.trim()))).slice(0, LIMITS.choices);
}

/**
 * Reads an option, which can be any text: Discord only suggests the choices, and sends the label instead of the value when a
 * command was pasted or edited.
 * @returns the value of the choice that has this value or label, else of the only one that contains the text; undefined when
 *   there is none.
 */
export function findChoice(choices: readonly Choice[], text: string): string | undefined {
  const parts = foldText(text.trim()).split(SEPARATOR);
  // The rest of the label, after the name, may have changed since.
  for (let length = parts.length; length > 0; length -= 1) {
    const part = parts.slice(0, length).join(SEPARATOR);
    if (part === '') return undefined;
    const found =
      choices.find(({ value }) => foldText(value) === part) ??
      choices.find(({ name }) => foldText(name) === part) ??
      findOnly(choices, ({ name }) => foldText(name).startsWith(part + SEPARATOR)) ??
      findOnly(choices, (choice) => containsText(choice, part));
    if (found) return found.value;
  }
  return undefined;
}

function findOnly(choices: readonly Choice[], matches: (choice: Choice) => boolean): Choice | undefined {
  const [first, second] = choices.filter(matches);
  return second ? undefined : first;
}

function containsText({ name, value }: Choice, part: string): boolean {
  return [name, value].some((text) => foldText(text).includes(part));
}
