import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** Every page a reader may open: those of the root and of `docs/`, by their path from the root. */
export const PAGES = [
  ...readdirSync(ROOT).filter((name) => name.endsWith('.md')),
  ...readdirSync(`${ROOT}/docs`)
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
];

/** The text of a page or of any other file, by its path from the root. */
export function readPage(path: string): string {
  return readFileSync(`${ROOT}/${path}`, 'utf8');
}

/** Lines of a page that are prose or tables: without what stands in code blocks. */
export function readProse(path: string): string {
  return readPage(path).replace(/^ *```[\s\S]*?^ *```$/gm, '');
}

/** The anchors that GitHub gives to the headings of a page. */
export function listAnchors(path: string): string[] {
  return [...readProse(path).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
