import { once } from 'node:events';
import { watchPauses } from './pauses.ts';
import { LATE_STEPS } from './time-promise.ts';

/** More than a garbage collection takes. */
const LONGEST_PAUSE_MS = 250;

/**
 * Does work that must leave the event loop free. Fails if the loop stood still for longer than a quarter of a second and
 * what {@link startReferenceThread} allows.
 */
export async function expectFreeEventLoop<T>(work: () => Promise<T>): Promise<T> {
  const reference = await startReferenceThread();
  const pauses = watchPauses();
  try {
    const result = await work();
    const longestMs = Math.round(pauses.stop());
    const allowedMs = Math.round(await reference.stop());
    if (longestMs <= LONGEST_PAUSE_MS + allowedMs) return result;
    throw new Error(
      `the event loop stood still for ${longestMs} ms instead of ${LONGEST_PAUSE_MS}, and ${allowedMs} for a busy machine`,
    );
  } finally {
    pauses.stop();
    await reference.stop();
  }
}

/**
 * Measures pauses of another thread, which nothing but a busy machine delays, whatever this thread does.
 * @returns `stop`, which gives the milliseconds by which a promised time may be exceeded: ten times the longest pause.
 */
export async function startReferenceThread(): Promise<{ stop: () => Promise<number> }> {
  const thread = new Worker(new URL('./pauses.worker.ts', import.meta.url));
  const nextMessage = () => once(thread, 'message');
  await nextMessage();
  let measured: Promise<number> | undefined;
  const measure = async () => {
    const message = nextMessage();
    thread.postMessage('stop');
    const [{ data }] = await message;
    thread.terminate();
    return LATE_STEPS * data;
  };
  return { stop: () => (measured ??= measure()) };
}
