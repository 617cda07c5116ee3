import { escapeUnprintable } from '../domain/text/escape-unprintable.ts';
import type { ImportProgress } from '../import/import-report.ts';

/** Shows the progress of long work: one rewritten line on a terminal, a line every few seconds elsewhere. */
type ProgressDisplay = {
  update: (progress: ImportProgress) => void;
  /** The same when only the share, 0 to 1, is known. */
  share: (share: number) => void;
  /** Prints a whole line; escapes what a terminal would interpret, since it may quote other databases. */
  line: (text: string) => void;
  /** Removes the rewritten line. */
  end: () => void;
};

const TERMINAL_MS = 200;
const PLAIN_MS = 5000;
const CLEAR_LINE = '\r\u001b[2K';

type Output = { isTTY?: boolean; write: (text: string) => unknown };

/**
 * Shows the progress of a command: in one line on a terminal, else as a line every few seconds.
 * @param clockMs a monotonic clock, in milliseconds.
 */
export function showProgress(output: Output, clockMs: () => number): ProgressDisplay {
  const startMs = clockMs();
  const isTerminal = output.isTTY === true;
  let shownMs = startMs;
  let current = '';
  const show = (describe: (seconds: number) => string) => {
    const nowMs = clockMs();
    if (nowMs - shownMs < (isTerminal ? TERMINAL_MS : PLAIN_MS)) return;
    shownMs = nowMs;
    current = describe((nowMs - startMs) / 1000);
    output.write(isTerminal ? `${CLEAR_LINE}${current}` : `${current}\n`);
  };
  return {
    update: (progress) => show((seconds) => describeProgress(progress, seconds)),
    share: (share) => show(() => `${Math.floor(share * 100)} %`),
    line(text) {
      const line = escapeUnprintable(text);
      output.write(isTerminal ? `${CLEAR_LINE}${line}\n${current}` : `${line}\n`);
    },
    end() {
      if (isTerminal) output.write(CLEAR_LINE);
    },
  };
}

/** Such as `120000 rows, 24000 rows/s, 12 %, 37s left`. */
export function describeProgress({ read, share }: ImportProgress, seconds: number): string {
  const parts = [`${read} rows`, `${Math.round(read / Math.max(seconds, 0.001))} rows/s`];
  if (share !== undefined && share > 0) {
    parts.push(`${Math.floor(share * 100)} %`, `${formatSeconds((seconds / share) * (1 - share))} left`);
  }
  return parts.join(', ');
}

/** In the two largest units: `1h 39m`, `0s`. */
function formatSeconds(seconds: number): string {
  const whole = Math.ceil(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  const duration = hours > 0 ? { hours, minutes } : { minutes, seconds: whole % 60 };
  const secondsDisplay = hours > 0 ? 'auto' : 'always';
  return new Intl.DurationFormat('en', { style: 'narrow', secondsDisplay }).format(duration);
}
