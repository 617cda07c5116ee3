import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';

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
