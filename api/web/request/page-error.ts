import type { Texts } from '../locales/en.ts';
import type { ErrorKey } from '../locales/texts.ts';

type Options = ErrorOptions & { limit?: number; reason?: string; isCorrectable?: boolean };

/** An error that is shown to the visitor in their language; `key` is the key of its message. */
export class PageError extends Error {
  override name = 'PageError';
  /** The number in messages that contain one: megabytes, kilobytes per second, or seconds to wait. */
  readonly limit: number;
  /** The reason as an administrator entered it. */
  readonly reason: string;
  /** Whether its form is shown again: by default for bad input, and for a file that is too large. */
  readonly isCorrectable: boolean;

  constructor(
    readonly key: ErrorKey,
    readonly status: number,
    { limit = 0, reason = '', isCorrectable = status === 400 || status === 413, ...options }: Options = {},
  ) {
    super(key, options);
    this.limit = limit;
    this.reason = reason;
    this.isCorrectable = isCorrectable;
  }

  /** The message in the visitor's language. */
  toMessage(texts: Texts): string {
    const sentence = texts.errors[this.key];
    const text = typeof sentence === 'string' ? sentence : sentence(this.limit);
    return this.reason === '' ? text : `${text} ${texts.errors.because(this.reason)}`;
  }
}
