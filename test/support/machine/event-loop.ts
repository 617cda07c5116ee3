import { once } from 'node:events';
import { watchPauses } from './pauses.ts';

/** More than a garbage collection takes. */
const MAX_PAUSE_MS = 250;
/** How many times longer than an idle thread the thread of a test may be blocked on a busy machine. */
const BUSY_FACTOR = 3;

/**
 * Does work that must leave the event loop free. Fails if the loop was blocked for longer than a quarter of a second plus
 * three times the longest pause of an idle thread.
 */
export async function expectFreeEventLoop<T>(work: () => Promise<T>): Promise<T> {
  const reference = await startReferenceThread();
  const pauses = watchPauses();
  try {
    const result = await work();
    const maxMs = Math.round(pauses.stop());
    const allowedMs = Math.round(BUSY_FACTOR * (await reference.stop()));
    if (maxMs <= MAX_PAUSE_MS + allowedMs) return result;
    throw new Error(
      `the event loop was blocked for ${maxMs} ms instead of ${MAX_PAUSE_MS}, plus ${allowedMs} for a busy machine`,
    );
  } finally {
    pauses.stop();
    await reference.stop();
  }
}

/**
 * Measures the pauses of an otherwise idle thread, which show how busy the machine is.
 * @returns `stop`, which gives the longest pause in milliseconds.
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
    return data;
  };
  return { stop: () => (measured ??= measure()) };
}
