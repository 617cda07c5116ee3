import type { Child } from 'hono/jsx';
import type { JSX } from 'hono/jsx/jsx-runtime';

/**
 * A column of a {@link ListTable}. CSS classes: `list-words` for texts that may break anywhere, `list-cut` for those that
 * phones cut after two lines, `list-action` for buttons, whose label is for screen readers only, `list-nothing` for an empty
 * cell, which phones leave out.
 */
export type Column<Row> = readonly [
  label: string,
  cell: (row: Row) => Child,
  cssClass?: string | ((row: Row) => string),
];

type ListTableProps<Row> = {
  rows: readonly Row[];
  /** The first one is the heading of each row. */
  columns: readonly Column<Row>[];
  /** The text in place of a table without rows; none by default. */
  empty?: string | false | undefined;
  /** Whether phones show the first two columns in a line, the third below, and then the others without labels. */
  isDense?: boolean;
};

/** A table whose rows are blocks of labelled lines on phones. */
export function ListTable<Row>(props: ListTableProps<Row>): JSX.Element | null {
  const { rows, columns, empty, isDense = false } = props;
  if (rows.length === 0) return empty ? <p class="empty">{empty}</p> : null;
  const [[, titleOf, titleClass] = ['', () => null], ...others] = columns;
  return (
    <table class={isDense ? 'list list-dense' : 'list'}>
      <thead>
        <tr>
          {columns.map(([label, , cssClass]) => (
            <th scope="col">{cssClass === 'list-action' ? <span class="sr-only">{label}</span> : label}</th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr>
            <th scope="row" class={titleClass ? `list-title ${titleClass}` : 'list-title'}>
              {titleOf(row)}
            </th>
            {others.map(([label, cell, cssClass]) => (
              <td
                data-label={isDense || cssClass === 'list-action' ? undefined : label}
                class={typeof cssClass === 'function' ? cssClass(row) : cssClass}
              >
                {cell(row)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
