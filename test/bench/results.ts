import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type Bench, describeMachine, type Row } from './bench.ts';

const RESULTS_FILE = fileURLToPath(new URL('./results.md', import.meta.url));
const INTRODUCTION = `# What was measured

Written by \`bun run bench\`, which replaces the section of each benchmark that it runs. The machine is shared and noisy:
compare the ratios, which were measured side by side.
`;

export type Outcome = { rows: Row[] } | { missing: string };

/** Replaces the section of one bench in results.md and keeps the others. */
export async function saveSection(name: string, section: string): Promise<void> {
  const old = existsSync(RESULTS_FILE) ? await readFile(RESULTS_FILE, 'utf8') : '';
  const [, ...oldSections] = old.split(/^(?=## )/m);
  const sections = new Map(oldSections.map((text) => [/^## (\S+)/.exec(text)?.[1] ?? '', text.trimEnd()]));
  sections.set(name, section);
  await writeFile(RESULTS_FILE, `${[INTRODUCTION.trimEnd(), ...sections.values()].join('\n\n')}\n`);
}

/** What one bench found, in Markdown that reads well on a terminal too. */
export function formatSection({ name, title }: Bench, outcome: Outcome, measuredAt: Date): string {
  const time = measuredAt.toISOString().slice(0, 16).replace('T', ' ');
  const head = [`## ${name} — ${title}`, '', `${time} UTC on ${describeMachine()}.`, ''];
  if ('missing' in outcome) return [...head, `Not measured: ${outcome.missing}.`].join('\n');
  return [...head, ...formatTable(outcome.rows), ...formatNotes(outcome.rows)].join('\n');
}

function formatTable(rows: readonly Row[]): string[] {
  const head = ['what', 'ours', 'compared with', 'ratio', 'target', 'verdict'];
  const body = rows.map(({ what, ours, floor, ratio, target, isReached }) => {
    return [what, ours, floor, ratio, target, isReached ? 'reached' : 'falls short'];
  });
  const widths = head.map((title, column) =>
    Math.max(title.length, ...body.map((cells) => cells[column]?.length ?? 0)),
  );
  const toLine = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  return [toLine(head), toLine(widths.map((width) => '-'.repeat(width))), ...body.map(toLine)];
}

/** The reason of each row that falls short, and how the others were measured. */
function formatNotes(rows: readonly Row[]): string[] {
  const notes = rows.flatMap(({ what, note, isReached }) =>
    note ? [`- ${what}${isReached ? '' : ' falls short'}: ${note}`] : [],
  );
  return notes.length === 0 ? [] : ['', ...notes];
}
