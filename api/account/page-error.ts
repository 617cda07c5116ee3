import type { ErrorKey } from './texts.ts';

/** A failure the visitor is told about in his language; `key` names the sentence. */
export class PageError extends Error {
  override name = 'PageError';
  constructor(
    readonly key: ErrorKey,
    readonly status: number,
    options?: ErrorOptions,
  ) {
    super(key, options);
  }
}
