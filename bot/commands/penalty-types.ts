import { PENALTY_TYPES, type PenaltyType } from '../../src/domain/penalty.ts';
import { foldText } from '../../src/domain/text/fold-text.ts';
import { Refusal } from '../command.ts';
import { noticeMessage } from '../embeds/message.ts';
import type { Texts } from '../locales/en.ts';
import { BOT_TEXTS } from '../locales/localization.ts';
import { escapeText } from '../text.ts';

/**
 * Parses comma-separated types of penalties, by their names in the API or in any language of the bot.
 * @returns each once, in the order of PENALTY_TYPES; null for an empty text, which means all.
 * @throws {Refusal} that quotes the unknown type and lists the types.
 */
export function parsePenaltyTypes(text: string): PenaltyType[] | null {
  const words = wordsOf(text).filter((word) => word !== '');
  const types = words.map((word) => {
    const type = findType(word);
    if (type !== undefined) return type;
    throw new Refusal(({ feed }) =>
      noticeMessage(
        feed.unknownType({
          text: escapeText(word, { max: 64, fallback: '?' }),
          allowed: PENALTY_TYPES.join(', '),
        }),
      ),
    );
  });
  return types.length === 0 ? null : PENALTY_TYPES.filter((type) => types.includes(type));
}

/** Suggests each type that a comma-separated list does not have yet, as the completion of its last entry. */
export function completePenaltyTypes(typed: string, { record }: Texts): { name: string; value: string }[] {
  const words = wordsOf(typed);
  const last = foldText(words.at(-1) ?? '');
  const before = [...new Set(words.slice(0, -1).flatMap((word) => findType(word) ?? []))];
  return PENALTY_TYPES.filter(
    (type) => !before.includes(type) && namesOf(type).some((name) => name.startsWith(last)),
  ).map((type) => ({
    name: [...before, type].map((each) => record.types[each]).join(', '),
    value: [...before, type].join(', '),
  }));
}

function wordsOf(text: string): string[] {
  return text.split(',').map((word) => word.trim());
}

function findType(word: string): PenaltyType | undefined {
  return PENALTY_TYPES.find((type) => namesOf(type).includes(foldText(word)));
}

function namesOf(type: PenaltyType): string[] {
  return [type, ...Object.values(BOT_TEXTS).map(({ record }) => record.types[type])].map(foldText);
}
