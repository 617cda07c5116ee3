/** The elements of a comma-separated list: trimmed, without empty ones. */
export function splitList(text: string): string[] {
  return text
    .split(',')
    .map((element) => element.trim())
    .filter((element) => element !== '');
}
