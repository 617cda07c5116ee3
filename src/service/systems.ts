import { InvalidInput } from '../domain/errors.ts';
import { IKS } from '../import/iks.ts';
import { simpleAdminSystem } from '../import/simple-admin/simple-admin.ts';
import { checkSourceUrl } from '../import/source/open-source.ts';
import { sourcebansSystem } from '../import/sourcebans/sourcebans.ts';
import type { Config } from '../runtime/config.ts';

/** The systems whose penalties can be mirrored, with their settings. */
export function listSystems({ simpleadmin, sourcebans, iks }: Config['sources']) {
  return [
    { system: simpleAdminSystem(simpleadmin), settings: simpleadmin },
    { system: sourcebansSystem(sourcebans), settings: sourcebans },
    { system: IKS, settings: iks },
  ];
}

/** @throws {InvalidInput} one line that names the variable, and nothing secret. */
export function checkUrl(variable: string, url: string): void {
  try {
    checkSourceUrl(url);
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw new InvalidInput(`${variable} isn't valid: ${error.message}`);
  }
}
