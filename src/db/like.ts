/** The pattern of LIKE for texts that contain this one, whatever signs are in it. */
export function likePart(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}
