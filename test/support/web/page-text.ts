const ENTITIES: Record<string, string> = { quot: '"', amp: '&', lt: '<', gt: '>', '#39': "'" };

/** Text of HTML with its entities resolved. */
export function unescapeHtml(html: string): string {
  return html.replace(/&(\w+|#39);/g, (whole, name: string) => ENTITIES[name] ?? whole);
}

/** The text of HTML as a reader sees it: without tags, blanks and entities resolved. */
export function textOf(html: string): string {
  const text = html.replaceAll('<wbr/>', '').replace(/<[^>]*>/g, ' ');
  return unescapeHtml(text).replace(/\s+/g, ' ').trim();
}

/** The rows of the tables of a page as texts, without their headings. */
export function rowsOf(html: string): string[] {
  return [...html.matchAll(/<tr>(?!<th scope="col">)(.*?)<\/tr>/gs)].map(([, row = '']) => textOf(row));
}

/** The HTML of a card of a page, empty if there is none. */
export function cardOf(html: string, id: string): string {
  return new RegExp(`<section class="card" id="${id}".*?</section>`, 's').exec(html)?.[0] ?? '';
}

/** Each notice of a page: the id of its card, undefined at the top of the page, and its words. */
export function noticesOf(html: string): [card: string | undefined, words: string][] {
  return [...html.matchAll(/<p class="notice".*?<\/p>/gs)].map(({ 0: notice, index }) => {
    const beforeIt = html.slice(0, index).split('</section>').at(-1) ?? '';
    return [/<section class="card" id="([\w-]+)"/.exec(beforeIt)?.[1], textOf(notice)];
  });
}
