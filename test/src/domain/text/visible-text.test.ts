import { expect, test } from 'bun:test';
import { hasVisibleCharacter } from '../../../../src/domain/text/visible-text.ts';
import { INVISIBLE_NAMES } from '../../../support/invisible-names.ts';

test.each(INVISIBLE_NAMES)('%j cannot be seen', (name) => {
  expect(hasVisibleCharacter(name)).toBe(false);
});

test.each(['a', ' ł ', '玩家', '-', '🎯', '❤️', '\u200bx', '\u3164.\u3164', '한', '\u2801', 'ﷺ', '১'])(
  '%j can be seen',
  (name) => {
    expect(hasVisibleCharacter(name)).toBe(true);
  },
);
