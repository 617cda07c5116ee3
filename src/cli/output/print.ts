import type { Command } from 'commander';
import { escapeUnprintable } from '../../domain/text/escape-unprintable.ts';

/**
 * Prints a result: as JSON with `--json`, otherwise as text. Names from other databases may contain what a terminal would
 * interpret: it is escaped, which does not change the meaning of JSON.
 */
export function print(command: Command, value: unknown, words: string): void {
  const { json } = command.optsWithGlobals<{ json?: boolean }>();
  const text = json ? JSON.stringify(value, null, 2) : words;
  command.configureOutput().writeOut?.(`${text.split('\n').map(escapeUnprintable).join('\n')}\n`);
}

/** How this tool was called, for hints that people paste: one of the demo must not lead to the real data. */
export function toolOf(command: Command): string {
  return command.optsWithGlobals<{ demo?: boolean }>().demo ? 'bun run cli --demo' : 'bun run cli';
}

/** Formats rows as a table; returns `none` when there are no rows. */
export function toTable(header: string[], rows: string[][], none: string): string {
  if (rows.length === 0) return none;
  const lines = [header, ...rows.map((row) => row.map(escapeUnprintable))];
  const widths = header.map((_, column) =>
    Math.max(...lines.map((cells) => Bun.stringWidth(cells[column] ?? ''))),
  );
  const line = (cells: string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max((widths[column] ?? 0) - Bun.stringWidth(cell), 0)))
      .join('  ')
      .trimEnd();
  return lines.map(line).join('\n');
}

/** A moment to the minute: `2026-11-23 15:17 UTC`. */
export function describeMoment(at: Date): string {
  return `${at.toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}
