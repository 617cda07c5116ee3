/**
 * An error and what caused it, the outermost first: drivers' errors arrive wrapped. Nothing that is not an `Error` is in
 * it, and a chain that comes back to itself ends there.
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

/** The `code` that drivers and Node.js put on an error; empty for what has none. */
export function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** Whether the error, or one of its causes, has one of these codes. */
export function hasErrorCode(error: unknown, codes: Iterable<string>): boolean {
  const wanted = new Set(codes);
  return errorCauses(error).some((cause) => wanted.has(errorCode(cause)));
}
