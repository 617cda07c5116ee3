import { RESTJSONErrorCodes } from 'discord.js';

/** Collects what is wrong with a request body. */
export class FormErrors {
  readonly #messages: string[] = [];

  get isEmpty(): boolean {
    return this.#messages.length === 0;
  }

  /** @param build throws when the value is refused, as the builders of discord.js do. */
  check(build: () => unknown): void {
    try {
      build();
    } catch (error) {
      this.#messages.push(String(error));
    }
  }

  /** For rules that discord.js does not know. */
  require(isFulfilled: boolean, message: string): void {
    if (!isFulfilled) this.#messages.push(message);
  }

  /** The body of Discord's error response; undefined when nothing is wrong. */
  body(): Record<string, unknown> | undefined {
    if (this.isEmpty) return undefined;
    const code = RESTJSONErrorCodes.InvalidFormBodyOrContentType;
    const errors = this.#messages.map((message) => ({ code: 'INVALID', message }));
    return { message: 'Invalid Form Body', code, errors: { _errors: errors } };
  }
}
