type Problem = { path: string; code: string; message: string };

/** Collects the errors of a request body, and formats them as Discord's error 50035. */
export class FormErrors {
  readonly #problems: Problem[] = [];

  get isEmpty(): boolean {
    return this.#problems.length === 0;
  }

  /**
   * @param validate throws when the value is refused, as the validators of discord.js do.
   * @param code Discord's, where the bot reads it.
   */
  check(path: string, validate: () => unknown, code = 'INVALID'): void {
    try {
      validate();
    } catch (error) {
      this.#problems.push({ path, code, message: error instanceof Error ? error.message : String(error) });
    }
  }

  /** For rules that discord.js does not know. */
  require(path: string, isFulfilled: boolean, message: string, code = 'INVALID'): void {
    if (!isFulfilled) this.#problems.push({ path, code, message });
  }

  /** The body of Discord's error response; undefined when nothing is wrong. */
  body(): Record<string, unknown> | undefined {
    if (this.isEmpty) return undefined;
    const errors: Record<string, unknown> = {};
    for (const { path, ...problem } of this.#problems) {
      const node = path.split('.').reduce<Record<string, unknown>>((parent, key) => {
        const child = isRecord(parent[key]) ? parent[key] : {};
        parent[key] = child;
        return child;
      }, errors);
      node._errors = [...(Array.isArray(node._errors) ? node._errors : []), problem];
    }
    return { message: 'Invalid Form Body', code: 50035, errors };
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
