import type { Command } from 'commander';

/** Prints a result: as JSON with `--json`, otherwise as text. */
export function print(command: Command, value: unknown, words: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  console.log(json ? JSON.stringify(value, null, 2) : words);
}

/** How this tool was called, for hints that people paste: one of the demo must not lead to the real data. */
export function toolOf(command: Command): string {
  return command.optsWithGlobals<{ demo?: boolean }>().demo ? 'bun run cli --demo' : 'bun run cli';
}

/** Formats rows as a table; returns `none` when there are no rows. */
export function toTable(header: string[], rows: string[][], none: string): string {
  if (rows.length === 0) return none;
  const widths = header.map((title, column) =>
    Math.max(...[title, ...rows.map((row) => row[column] ?? '')].map((cell) => Bun.stringWidth(cell))),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - Bun.stringWidth(cell), 0)))
      .join('  ')
      .trimEnd();
  return [header, ...rows].map(line).join('\n');
}

/** A moment to the minute: `2026-11-23 15:17 UTC`. */
export function describeMoment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
