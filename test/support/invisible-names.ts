/** Invisible names, one of each kind that people use. */
export const INVISIBLE_NAMES = [
  '',
  '   ',
  '\u00a0\u2003\u3000',
  '\u200b\u200c\u200d\u2060\ufeff',
  '\u202e\u200f\u061c',
  '\u3164',
  '\u115f\u1160\uffa0',
  '\u2800\u2800',
  '\u0001\u0007\u001b',
  '\u0301\u0308',
  '\u034f\u180e\u17b4',
  '\ufe0f\u{e0041}\u{e007f}',
  '\ufffc\u{1d159}',
  '\ue000',
] as const;
