import { watchPauses } from './pauses.ts';

/** Measures the pauses of a thread that does nothing else, until the first message. */
const pauses = watchPauses();
addEventListener('message', () => postMessage(pauses.stop()));
postMessage('watching');
