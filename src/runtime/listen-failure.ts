import { errorCode } from '../domain/error-causes.ts';
import { InvalidInput } from '../domain/errors.ts';

/** The settings that name a port. */
export type PortSetting = 'PORT' | 'HEALTH_PORT';

/** One line that names the variable, for a port that cannot be had; any other error as it is. */
export function toListenFailure(
  error: unknown,
  { setting, host, port }: { setting: PortSetting; host: string; port: number },
): unknown {
  const code = errorCode(error);
  if (code === 'EADDRINUSE') {
    return new InvalidInput(
      `${setting}=${port} is taken on ${host}: stop what listens there or give another ${setting}`,
    );
  }
  if (code === 'EACCES')
    return new InvalidInput(`${setting}=${port} needs more rights: give a ${setting} above 1023`);
  return error;
}
