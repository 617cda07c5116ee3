/**
 * An error and its causes, the outermost first: drivers' errors arrive wrapped. Causes that are no `Error` are left out,
 * and a circular chain ends where it repeats.
 */
export function errorCauses(error: unknown): Error[] {
  const causes: Error[] = [];
  let cause = error;
  while (cause instanceof Error && !causes.includes(cause)) {
    causes.push(cause);
    cause = cause.cause;
  }
  return causes;
}

/** The `code` that drivers and Node.js set on errors; empty when there is none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error, or one of its causes, has one of these codes. */
export function hasErrorCode(error: unknown, codes: Iterable<string>): boolean {
  const wanted = new Set(codes);
  return errorCauses(error).some((cause) => wanted.has(errorCode(cause)));
}
