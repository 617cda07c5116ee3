import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';

/** The columns of a table: the content of a cell, by the column's heading. */
export type Columns<Row> = Record<string, (row: Row) => string | number>;

/** Formats rows as a table; returns `none` when there are no rows. */
export function toTable<Row>(rows: readonly Row[], columns: Columns<Row>, none = ''): string {
  if (rows.length === 0) return none;
  const cellsOf = (row: Row) => Object.values(columns).map((cell) => escapeUnprintable(String(cell(row))));
  const lines = [Object.keys(columns), ...rows.map(cellsOf)];
  const widths = Object.keys(columns).map((_, column) =>
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

/** A day in UTC: `2026-11-23`. */
export function describeDay(at: Date): string {
  return at.toISOString().slice(0, 10);
}
