/** The text of HTML as a reader sees it: without tags, blanks and entities resolved. */
export function textOf(html: string): string {
  const entities: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>', '#39': "'" };
  return html
    .replaceAll('<wbr/>', '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/&(\w+|#39);/g, (whole, name: string) => entities[name] ?? whole)
    .replace(/\s+/g, ' ')
    .trim();
}

/** The rows of the tables of a page as texts, without their headings. */
export function rowsOf(html: string): string[] {
  return [...html.matchAll(/<tr>(?!<th scope="col">)(.*?)<\/tr>/gs)].map(([, row = '']) => textOf(row));
}
