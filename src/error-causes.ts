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

/** The `code` that drivers and Node.js put on an error; empty when it has none. */
export function errorCode(error: Error): string {
  return 'code' in error ? String(error.code) : '';
}
