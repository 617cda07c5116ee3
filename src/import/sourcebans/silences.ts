import type { SourceDatabase, SourceRow } from '../source/source-database.ts';
import { PAGE_ROWS, readPages, type SourceTable, selectSourceRows } from '../source/tables.ts';
import { isOverEarly } from './removal.ts';

/**
 * Reads the communication bans of SourceBans++ in groups: the two halves of a silence together, every other row alone.
 * Rows are sorted by what two halves have in common, so that the halves are adjacent.
 */
export async function* readComms(
  database: SourceDatabase,
  table: SourceTable,
): AsyncGenerator<SourceRow[][]> {
  const order = `order by p.authid, p.created, p.length, p.bid limit ${PAGE_ROWS}`;
  const pages = readPages(async (last) => {
    if (!last) return selectSourceRows(database, table, order);
    const beyond = 'and p.authid >= ? and (p.authid, p.created, p.length, p.bid) > (?, ?, ?, ?)';
    const key = [last.authid, last.authid, last.created, last.length, last.bid].map((value) => value ?? '');
    return selectSourceRows(database, table, `${beyond} ${order}`, key);
  });
  const alike: SourceRow[] = [];
  for await (const page of pages) {
    const groups: SourceRow[][] = [];
    for (const row of page) {
      const [first] = alike;
      if (first && !isAlike(first, row)) groups.push(...pairSilences(alike.splice(0)));
      alike.push(row);
    }
    yield groups;
  }
  yield pairSilences(alike);
}

function isAlike(one: SourceRow, other: SourceRow): boolean {
  return one.authid === other.authid && one.created === other.created && one.length === other.length;
}

/** Pairs each mute with a gag that has the same state; the lower id comes first and identifies the pair. */
function pairSilences(alike: SourceRow[]): SourceRow[][] {
  const groups: SourceRow[][] = [];
  const unpaired = [...alike];
  for (let row = unpaired.shift(); row; row = unpaired.shift()) {
    const index = unpaired.findIndex((other) => row && isOtherHalf(row, other));
    groups.push(index === -1 ? [row] : [row, ...unpaired.splice(index, 1)]);
  }
  return groups;
}

/** Both halves are lifted by two statements, at most a few seconds apart. */
const SAME_LIFT_SECONDS = 60;

function isOtherHalf(row: SourceRow, other: SourceRow): boolean {
  const types = `${row.type}${other.type}`;
  if (row.authid === '' || (types !== '12' && types !== '21')) return false;
  // Rows without a date of creation have it in common.
  if (row.created === '0' && row.ends !== other.ends) return false;
  if (isOverEarly(row) !== isOverEarly(other)) return false;
  if (!isOverEarly(row)) return true;
  return (
    row.removedby === other.removedby &&
    Math.abs(Number(row.removedon ?? 0) - Number(other.removedon ?? 0)) <= SAME_LIFT_SECONDS
  );
}
