import {
  readPages,
  type SourceDatabase,
  type SourceRow,
  type SourceTable,
  selectSourceRows,
} from '../source/tables.ts';
import { isOverEarly } from './removal.ts';

/**
 * Reads the communication bans of SourceBans++ in groups: the two halves of a silence, or one other row.
 * Rows are sorted by what two halves have in common, so that the halves are adjacent.
 */
export async function* readComms(
  database: SourceDatabase,
  table: SourceTable,
  pageRows: number,
): AsyncGenerator<SourceRow[][]> {
  const order = `${ORDER} limit ${pageRows}`;
  const pages = readPages(async (last) => {
    if (!last) return selectSourceRows(database, table, order);
    const beyond = 'and p.authid >= ? and (p.authid, p.created, p.length, p.bid) > (?, ?, ?, ?)';
    const key = [last.player_steamid, last.player_steamid, last.created, last.length, last.id].map(
      (value) => value ?? '',
    );
    return selectSourceRows(database, table, `${beyond} ${order}`, key);
  });
  const alike: SourceRow[] = [];
  for await (const page of pages) yield groupSorted(page, alike);
  yield pairSilences(alike);
}

const ORDER = 'order by p.authid, p.created, p.length, p.bid';
/** Players in one query. */
const LOOKUP_PLAYERS = 500;

/** The groups of all communication bans of the players of some rows. Each row without a player is a group of one. */
export async function completeComms(
  database: SourceDatabase,
  table: SourceTable,
  rows: readonly SourceRow[],
): Promise<SourceRow[][]> {
  const groups = rows.filter(({ player_steamid }) => !player_steamid).map((row) => [row]);
  const players = [...new Set(rows.flatMap(({ player_steamid }) => player_steamid || []))];
  for (let start = 0; start < players.length; start += LOOKUP_PLAYERS) {
    const some = players.slice(start, start + LOOKUP_PLAYERS);
    const theirs = `and p.authid in (${some.map(() => '?').join(', ')}) ${ORDER}`;
    const alike: SourceRow[] = [];
    groups.push(...groupSorted(await selectSourceRows(database, table, theirs, some), alike));
    groups.push(...pairSilences(alike));
  }
  return groups;
}

/** Groups sorted rows; those alike to the last one stay in `alike`, since more of them may follow. */
function groupSorted(rows: readonly SourceRow[], alike: SourceRow[]): SourceRow[][] {
  const groups: SourceRow[][] = [];
  for (const row of rows) {
    const [first] = alike;
    if (first && !isAlike(first, row)) groups.push(...pairSilences(alike.splice(0)));
    alike.push(row);
  }
  return groups;
}

function isAlike(one: SourceRow, other: SourceRow): boolean {
  return (
    one.player_steamid === other.player_steamid &&
    one.created === other.created &&
    one.length === other.length
  );
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
  const types = `${row.mute_type}${other.mute_type}`;
  if (row.player_steamid === '' || (types !== '12' && types !== '21')) return false;
  // Rows without a date of creation have it in common.
  if (row.created === '0' && row.ends !== other.ends) return false;
  if (isOverEarly(row) !== isOverEarly(other)) return false;
  if (!isOverEarly(row)) return true;
  return (
    row.lifter_id === other.lifter_id &&
    Math.abs(Number(row.lifted_at ?? 0) - Number(other.lifted_at ?? 0)) <= SAME_LIFT_SECONDS
  );
}
