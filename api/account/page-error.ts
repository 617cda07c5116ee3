import type { ErrorKey, Texts } from './texts.ts';

/** A failure the visitor is told about in his language; `key` names the sentence. */
export class PageError extends Error {
  override name = 'PageError';
  /** What is allowed, for sentences that name it: megabytes, kilobytes a second. */
  readonly limit: number;

  constructor(
    readonly key: ErrorKey,
    readonly status: number,
    { limit = 0, ...options }: ErrorOptions & { limit?: number } = {},
  ) {
    super(key, options);
    this.limit = limit;
  }

  /** The sentence for the visitor. */
  tell(texts: Texts): string {
    const sentence = texts.errors[this.key];
    return typeof sentence === 'string' ? sentence : sentence(this.limit);
  }
}
