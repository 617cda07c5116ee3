import {
  readPages,
  readSourcePages,
  type SourceDatabase,
  type SourceRow,
  type SourceTable,
  selectSourceRows,
} from '../source/tables.ts';
import { isOverEarly } from './removal.ts';

/** Players in one query. */
const LOOKUP_PLAYERS = 500;

/**
 * Reads the communication bans of SourceBans++ in groups: the two halves of a silence, or one other row. First those
 * without a player, then those of some players at a time.
 */
export async function* readComms(
  database: SourceDatabase,
  table: SourceTable,
  pageRows: number,
): AsyncGenerator<SourceRow[][]> {
  const ofNobody = { ...table, condition: "coalesce(p.authid, '') = ''" };
  for await (const page of readSourcePages(database, ofNobody, { key: 'bid', pageRows })) {
    yield page.map((row) => [row]);
  }
  const players = readPages((last) =>
    database.select(
      `select distinct authid as player_steamid from ${table.name}
       where authid > ? order by authid limit ${LOOKUP_PLAYERS}`,
      [last?.player_steamid ?? ''],
    ),
  );
  for await (const page of players) yield completeComms(database, table, page);
}

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
    const marks = some.map(() => '?').join(', ');
    const theirs = `and p.authid in (${marks}) order by p.bid`;
    const alike = Map.groupBy(
      await selectSourceRows(database, table, theirs, some),
      ({ player_steamid, created, length }) => `${player_steamid} ${created} ${length}`,
    );
    groups.push(...alike.values().flatMap(pairSilences));
  }
  return groups;
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
