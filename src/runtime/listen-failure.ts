import { errorCode, InvalidInput } from '../domain/errors.ts';

/** The settings that name a port. */
export type PortSetting = 'PORT' | 'HEALTH_PORT';

/**
 * Checks early that a port can be opened: a start takes seconds, and its parts must not begin to work in a process that
 * nobody can reach. A client that connects at this instant gets status 503.
 * @param port 0: any free one.
 * @returns the port that was free.
 * @throws {InvalidInput} as {@link toListenFailure}.
 */
export async function probePort(
  host: string,
  { setting, port }: { setting: PortSetting; port: number },
): Promise<number> {
  try {
    const probe = Bun.serve({
      hostname: host,
      port,
      reusePort: false,
      fetch: () => new Response(null, { status: 503 }),
    });
    const freePort = probe.port ?? port;
    await probe.stop(true);
    return freePort;
  } catch (error) {
    throw toListenFailure(error, { setting, host, port });
  }
}

/** Turns the error of a port that cannot be opened into one line that names the variable; returns others unchanged. */
export function toListenFailure(
  error: unknown,
  { setting, host, port }: { setting: PortSetting; host: string; port: number },
): unknown {
  const code = errorCode(error);
  if (code === 'EADDRINUSE') {
    return new InvalidInput(
      `${setting}=${port} is taken on ${host}: stop whatever listens there or set another ${setting}`,
      { cause: error },
    );
  }
  if (code === 'EACCES')
    return new InvalidInput(`${setting}=${port} needs more privileges: use a ${setting} above 1023`);
  // The code says little: for a name that does not resolve, Bun reports that of an earlier system call.
  if (isListenError(error)) {
    return new InvalidInput(
      `HOST=${host} is neither an address of this machine nor a name that resolves to one: use such an address, or 0.0.0.0 for all of them`,
      { cause: error },
    );
  }
  return error;
}

function isListenError(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && /^(listen|getaddrinfo)$/.test(String(error.syscall));
}
