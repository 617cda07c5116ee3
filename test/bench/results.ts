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
export async function saveResults(bench: Bench, outcome: Outcome, measuredAt: Date): Promise<void> {
  const old = existsSync(RESULTS_FILE) ? await readFile(RESULTS_FILE, 'utf8') : '';
  const sections = new Map(
    old
      .split(/^(?=## )/m)
      .filter((section) => section.startsWith('## '))
      .map((section) => [/^## (\S+)/.exec(section)?.[1] ?? '', section.trimEnd()]),
  );
  sections.set(bench.name, formatSection(bench, outcome, measuredAt));
  await writeFile(
    RESULTS_FILE,
    `${[INTRODUCTION, ...sections.values()].join('\n\n').replaceAll(/\n{3,}/g, '\n\n')}\n`,
  );
}

function formatSection({ name, title }: Bench, outcome: Outcome, measuredAt: Date): string {
  const lines = [
    `## ${name} — ${title}`,
    '',
    `${measuredAt.toISOString().slice(0, 16).replace('T', ' ')} UTC on ${describeMachine()}.`,
    '',
  ];
  if ('missing' in outcome) return [...lines, `Not measured: ${outcome.missing}.`].join('\n');
  return [...lines, ...formatTable(outcome.rows), ...formatNotes(outcome.rows)].join('\n');
}

/** A Markdown table that reads well on a terminal too. */
export function formatTable(rows: readonly Row[]): string[] {
  const cells = [
    ['what', 'ours', 'compared with', 'ratio', 'target', 'verdict'],
    ...rows.map((row) => [
      row.what,
      row.ours,
      row.floor,
      row.ratio,
      row.target,
      row.isReached ? 'reached' : 'falls short',
    ]),
  ];
  const widths =
    cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const [head = '', ...body] = cells.map(
    (line) => `| ${line.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`,
  );
  return [head, `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...body];
}

/** The reason of each row that falls short, and how the others were measured. */
export function formatNotes(rows: readonly Row[]): string[] {
  const notes = rows.flatMap(({ what, note, isReached }) =>
    note ? [`- ${what}${isReached ? '' : ' falls short'}: ${note}`] : [],
  );
  return notes.length === 0 ? [] : ['', ...notes];
}
