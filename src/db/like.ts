/** The shortest text that the index of names can find, in characters. */
export const MIN_INDEXED_LENGTH = 3;

/** The pattern of LIKE for texts that contain this one, in which `%`, `_` and backslashes are escaped. */
export function likePart(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}
