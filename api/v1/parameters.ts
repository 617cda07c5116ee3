import { InvalidInput } from '../../src/domain/errors.ts';
import { parseSteamId, type SteamId64 } from '../../src/domain/steam-id.ts';
import { optional, type Parameter } from '../http/parameters.ts';

export const STEAM_ID_NOTATIONS = 'SteamID64, STEAM_X:Y:Z or [U:1:N]';

type Named = Pick<Parameter, 'name' | 'description' | 'aliases' | 'example'>;

/** A player or an admin, in any notation. */
export function steamIdParameter(named: Named): Parameter<SteamId64 | undefined> {
  const { name, description } = named;
  return {
    ...named,
    description: `${description}: ${STEAM_ID_NOTATIONS}.`,
    refused: 'nobody',
    parse: optional((text) => parseSteamIdOf(name, text)),
  };
}

/** A whole number within bounds. */
export function integerParameter({
  minimum,
  maximum,
  ...named
}: Named & { minimum: number; maximum: number }): Parameter<number | undefined> {
  const digits = new RegExp(`^[0-9]{1,${String(maximum).length}}$`);
  return {
    ...named,
    schema: { type: 'integer', minimum, maximum },
    refused: 'abc',
    parse: optional((text) => {
      const number = digits.test(text) ? Number(text) : Number.NaN;
      if (number >= minimum && number <= maximum) return number;
      return refuse(named.name, text, `a whole number from ${minimum} to ${maximum}`);
    }),
  };
}

/**
 * The maximum number of records in a response. No value is rejected.
 * @param what the records, as the beginning of a sentence.
 */
export function limitParameter(
  name: string,
  { what, defaultLimit, maximum }: { what: string; defaultLimit: number; maximum: number },
): Parameter<number> {
  return {
    name,
    description: `${what}; more than ${maximum} counts as ${maximum}, anything but a positive whole number as ${defaultLimit}.`,
    schema: { type: 'integer', minimum: 1, maximum, default: defaultLimit },
    example: defaultLimit,
    parse: (text) => Math.min(positiveOr(text, defaultLimit), maximum),
  };
}

/** A positive whole number; the default for any other text. */
export function positiveOr(text: string | undefined, fallback: number): number {
  const number = text !== undefined && /^\+?[0-9]+$/.test(text) ? Number(text) : 0;
  return number < 1 ? fallback : number;
}

/** Refuses an invalid parameter. @throws {InvalidInput} quotes at most 64 characters of its value. */
export function refuse(name: string, text: string, format: string): never {
  throw new InvalidInput(`${name} ${JSON.stringify(text.slice(0, 64))} isn't valid: use ${format}`);
}

/** A SteamID in any notation. @throws {InvalidInput} that names the parameter. */
export function parseSteamIdOf(name: string, text: string): SteamId64 {
  try {
    return parseSteamId(text);
  } catch (error) {
    if (error instanceof InvalidInput) throw new InvalidInput(`${name} ${error.message}`, { cause: error });
    throw error;
  }
}

/** A Discord id. @throws {InvalidInput} that names the parameter. */
export function parseDiscordId(name: string, text: string): string {
  return /^[0-9]{1,20}$/.test(text) ? text : refuse(name, text, '1 to 20 digits');
}
