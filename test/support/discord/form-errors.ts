/** One complaint as Discord nests it under `errors`, by path. */
export type FormError = { path: string; code: string; message: string };

/** Collects what Discord would complain about in a request body, and formats it as its error 50035. */
export class FormErrors {
  readonly all: FormError[] = [];

  add(path: string, code: string, message: string): void {
    this.all.push({ path, code, message });
  }

  /** A required text within bounds, counted in UTF-16 units: never laxer than Discord's code points. */
  text(path: string, value: unknown, { min = 1, max }: { min?: number; max: number }): void {
    if (typeof value !== 'string') {
      this.add(path, 'BASE_TYPE_REQUIRED', 'This field is required');
      return;
    }
    const length = value.trim().length;
    if (length < min || value.length > max) {
      this.add(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
    }
  }

  optionalText(path: string, value: unknown, max: number): void {
    if (value !== undefined && value !== null) this.text(path, value, { max });
  }

  count(path: string, value: readonly unknown[], { min = 0, max }: { min?: number; max: number }): void {
    if (value.length < min || value.length > max) {
      this.add(path, 'BASE_TYPE_BAD_LENGTH', `Must be between ${min} and ${max} in length.`);
    }
  }

  /** The body of Discord's error response; undefined when there is nothing to complain about. */
  body(): Record<string, unknown> | undefined {
    if (this.all.length === 0) return undefined;
    const errors: Record<string, unknown> = {};
    for (const { path, code, message } of this.all) {
      let node = errors;
      for (const key of path.split('.')) {
        const next: Record<string, unknown> = isRecord(node[key]) ? node[key] : {};
        node[key] = next;
        node = next;
      }
      node._errors = [...(Array.isArray(node._errors) ? node._errors : []), { code, message }];
    }
    return { message: 'Invalid Form Body', code: 50035, errors };
  }
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
