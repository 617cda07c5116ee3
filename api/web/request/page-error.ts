import type { Texts } from '../locales/en.ts';
import type { ErrorKey } from '../locales/texts.ts';

/** An error that is shown to the visitor in their language; `key` is the key of its message. */
export class PageError extends Error {
  override name = 'PageError';
  /** The number in messages that contain one: megabytes, kilobytes per second, or seconds to wait. */
  readonly limit: number;
  /** The reason as an administrator entered it. */
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

  /** Whether it is about what was entered in a form: bad input, or a file that is too large. */
  get isCorrectable(): boolean {
    return this.status === 400 || this.status === 413;
  }

  /** The message in the visitor's language. */
  toMessage(texts: Texts): string {
    const sentence = texts.errors[this.key];
    const text = typeof sentence === 'string' ? sentence : sentence(this.limit);
    return this.reason === '' ? text : `${text} ${texts.errors.because(this.reason)}`;
  }
}
