/** A position of the primary's WAL, and when it was read. */
type WalMark = {
  lsn: bigint;
  /** When the query was sent: everything committed by then is before `lsn`. */
  atMs: number;
};

/** Positions of the primary's WAL over the last seconds, which bound how old the data of a replica can be. */
export type WalMarks = {
  add: (mark: WalMark) => void;
  /** The latest time whose commits have all been replayed; undefined when that is too long ago. */
  findReached: (replayedLsn: bigint) => number | undefined;
};

/** @param keptMs how long a mark is kept. */
export function createWalMarks(keptMs: number): WalMarks {
  let marks: WalMark[] = [];
  return {
    add: (mark) => {
      marks = [...marks.filter(({ atMs }) => mark.atMs - atMs <= keptMs), mark];
    },
    findReached: (replayedLsn) => marks.findLast(({ lsn }) => lsn <= replayedLsn)?.atMs,
  };
}
