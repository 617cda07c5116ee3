import type { Texts } from '../layout/locales/en.ts';
import type { ErrorKey } from '../layout/locales/texts.ts';

/** A failure that the visitor reads about in their language; `key` names the sentence. */
export class PageError extends Error {
  override name = 'PageError';
  /** A number for sentences that name one: megabytes, kilobytes a second, seconds to wait. */
  readonly limit: number;
  /** What an admin gave as the reason, in their own words. */
  readonly reason: string;

  constructor(
    readonly key: ErrorKey,
    readonly status: number,
    { limit = 0, reason = '', ...options }: ErrorOptions & { limit?: number; reason?: string } = {},
  ) {
    super(key, options);
    this.limit = limit;
    this.reason = reason;
  }

  /** The sentence for the visitor. */
  tell(texts: Texts): string {
    const sentence = texts.errors[this.key];
    const text = typeof sentence === 'string' ? sentence : sentence(this.limit);
    return this.reason === '' ? text : `${text} ${texts.errors.because(this.reason)}`;
  }
}
