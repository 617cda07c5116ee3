import { describe, expect, test } from 'bun:test';
import { cut, escapeText, joinLines, toPlainLine } from '../../../bot/embeds/text.ts';

describe('names from game servers', () => {
  test.each([
    [
      '**bold** _x_ ~~s~~ `c` ||spoiler||',
      '\\*\\*bold\\*\\* \\_x\\_ \\~\\~s\\~\\~ \\`c\\` \\|\\|spoiler\\|\\|',
    ],
    ['@everyone <@123> <#1> <t:1:R>', '\\@everyone \\<\\@123\\> \\<\\#1\\> \\<t\\:1:R\\>'],
    ['[free](https://evil.example)', '\\[free\\](https\\://evil.example)'],
    ['discord.gg/evil DiscordApp.com/invite/evil', 'discord\\.gg/evil DiscordApp\\.com/invite/evil'],
    ['disc\u200bord.gift/evil discord.ggg', 'discord\\.gift/evil discord.ggg'],
    [':smile: a:b', '\\:smile: a:b'],
    ['# heading\n> quote\n- item', '\\# heading \\> quote - item'],
    ['- item', '\\- item'],
    ['1. item', '1\\. item'],
    ['back\\slash', 'back\\\\slash'],
    ['\u202eevil\u0000\u200b  name\u3164', 'evil name'],
    ['Zażółć 🎮 gęślą', 'Zażółć 🎮 gęślą'],
    ['👩🏽\u200d💻 👨\u200d👩\u200d👧 🏳️\u200d🌈', '👩🏽\u200d💻 👨\u200d👩\u200d👧 🏳️\u200d🌈'],
    [
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    ],
    ['a\u200db 👩\u200d \u200d👩 🎮\u200d\u200d🎮 x\u{e0067}\u{e007f}', 'ab 👩 👩 🎮🎮 x'],
    ['אלוף *העולם*', '\u2068אלוף \\*העולם\\*\u2069'],
    ['\u2067king ملك', '\u2068king ملك\u2069'],
  ])('%j is shown as it is, nothing formatted, linked or mentioned', (given, shown) => {
    expect(escapeText(given)).toBe(shown);
  });

  test('an empty or invisible name has a fallback', () => {
    expect(escapeText('\u200b\u3164 ', { fallback: '?' })).toBe('?');
    expect(toPlainLine('\n\t')).toBe('');
  });

  test('a cut falls between characters and is marked', () => {
    expect(cut('👨‍👩‍👧👨‍👩‍👧', 10)).toBe('👨‍👩‍👧…');
    expect(cut('abcdef', 6)).toBe('abcdef');
    expect(cut('abcdefg', 6)).toBe('abcde…');
    expect(escapeText('*'.repeat(200), { max: 10 })).toBe(`${'\\*'.repeat(9)}…`);
    expect(escapeText(`ש${'*'.repeat(200)}`, { max: 10 }).length).toBeLessThanOrEqual(20);
  });
});

const more = (amount: number) => `and ${amount} more`;

test('joined lines are whole when all fit', () => {
  expect(joinLines(['a', 'b'], { max: 3, more })).toBe('a\nb');
  expect(joinLines(['a'], { max: 100, more, hidden: 2 })).toBe('a\nand 2 more');
});

test('joined lines never exceed the maximum, and count the lines that are left out', () => {
  const lines = Array.from({ length: 100 }, (_, number) => `line ${number}`);
  for (const max of [20, 50, 200, 700]) {
    const joined = joinLines(lines, { max, more, hidden: 5 });
    expect(joined.length).toBeLessThanOrEqual(max);
    const shown = joined.split('\n').length - 1;
    expect(joined).toEndWith(`and ${105 - shown} more`);
  }
});
