import { InvalidInput } from '../domain/errors.ts';
import { PENALTY_SYSTEM_NAMES } from '../domain/systems.ts';
import { checkSourceUrl } from '../import/source/open-source.ts';
import { OPENERS } from '../import/systems.ts';
import type { Config } from '../runtime/config.ts';

/** The systems whose penalties can be mirrored, with their settings. */
export function listSystems(sources: Config['sources']) {
  return PENALTY_SYSTEM_NAMES.map((name) => ({
    system: OPENERS[name](sources[name]),
    settings: sources[name],
  }));
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
