import { readFileSync } from 'node:fs';
import { InvalidInput } from '../domain/errors.ts';
import { splitList } from '../domain/text/list.ts';
import { isNetwork } from './address.ts';

/** How one variable of the environment is read. Each function takes the variable's name and throws what {@link refuse} does. */

export type Variables = Readonly<Record<string, string | undefined>>;

export type Env = {
  /** The trimmed value of a variable; undefined when it is unset or empty. */
  read: (name: string) => string | undefined;
  /** The value as error messages show it. */
  show: (value: string) => string;
};

/**
 * Reads variables of the environment, trimmed.
 * @param defaults values of variables that are unset or empty.
 */
export function readEnvironment(variables: Variables, defaults: Variables): Env {
  return { read: (name) => variables[name]?.trim() || defaults[name], show: (value) => value };
}

/**
 * The environment for secrets: each is the value of the variable, or the trimmed content of the file that `NAME_FILE`
 * names. No message repeats a password. Reading throws {@link InvalidInput} when both are set, and when the file is empty
 * or cannot be read.
 */
export function secretsOf(env: Env): Env {
  return { read: (name) => readSecret(env, name), show: withoutPassword };
}

function readSecret(env: Env, name: string): string | undefined {
  const value = env.read(name);
  const path = env.read(`${name}_FILE`);
  if (path === undefined) return value;
  if (value !== undefined) throw new InvalidInput(`${name} and ${name}_FILE are both set: use one of them`);
  const content = readFile(`${name}_FILE`, path).trim();
  return content || refuse(`${name}_FILE`, path, 'a file that is not empty');
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    return refuse(name, path, 'a file that this process may read', { cause });
  }
}

/** A value that `tryParse` understands; `format` describes such values in the error message. */
export function parsed<T>(
  env: Env,
  name: string,
  tryParse: (value: string) => T | undefined,
  format: string,
): T | undefined {
  const value = env.read(name);
  return value === undefined ? undefined : (tryParse(value) ?? refuse(name, env.show(value), format));
}

/** The values between commas, without empty ones, of which `tryParse` understands each. */
export function parsedList<T>(
  env: Env,
  name: string,
  tryParse: (value: string) => T | undefined,
  format: string,
): T[] {
  return splitList(env.read(name) ?? '').map(
    (value) => tryParse(value) ?? refuse(name, env.show(value), format),
  );
}

/** A whole number of at most 15 digits, or one such as `-18.5`; `min` and `max` included. */
export function number(
  env: Env,
  name: string,
  options: { fallback: number; min: number; max: number; isWhole?: boolean },
): number {
  const { fallback, min, max, isWhole = true } = options;
  const form = isWhole ? /^-?[0-9]{1,15}$/ : /^-?[0-9]{1,9}(\.[0-9]{1,9})?$/;
  const tryParse = (value: string) =>
    form.test(value) && Number(value) >= min && Number(value) <= max ? Number(value) : undefined;
  const format = `a ${isWhole ? 'whole ' : ''}number from ${min} to ${max}`;
  return parsed(env, name, tryParse, format) ?? fallback;
}

/** One of a closed set of words. */
export function oneOf<T extends string>(env: Env, name: string, choices: readonly T[]): T | undefined {
  return parsed(env, name, (value) => choices.find((item) => item === value), `one of ${choices.join(', ')}`);
}

/** A text that matches `pattern`; `format` describes the pattern in the error message. */
export function matching(env: Env, name: string, pattern: RegExp, format: string): string | undefined {
  return parsed(env, name, (value) => (pattern.test(value) ? value : undefined), format);
}

/** A URL as it was given. @param schemes the allowed ones, without colon. */
export function url(env: Env, name: string, schemes: readonly string[]): string | undefined {
  const tryParse = (value: string) => {
    const scheme = URL.parse(value)?.protocol.slice(0, -1);
    return scheme !== undefined && schemes.includes(scheme) ? value : undefined;
  };
  const starts = schemes.map((scheme) => (scheme === 'mailto' ? 'mailto:' : `${scheme}://`));
  return parsed(env, name, tryParse, `an address that begins with ${starts.join(' or ')}`);
}

/** Addresses and networks in CIDR notation. */
export function networks(env: Env, name: string): string[] {
  const format = 'addresses or networks such as 10.0.0.0/8, 127.0.0.1 or fd00::/8, separated by commas';
  return parsedList(env, name, (value) => (isNetwork(value) ? value : undefined), format);
}

/** A name of the IANA time zone database. */
export function timezone(env: Env, name: string): string | undefined {
  const tryParse = (value: string) => {
    try {
      return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone && value;
    } catch {
      return undefined;
    }
  };
  return parsed(env, name, tryParse, 'a time zone such as UTC or Europe/Warsaw');
}

/** Replaces whatever may be a user name and a password. */
export function withoutPassword(value: string): string {
  return value.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@');
}

/** @param format what to give instead. @throws {InvalidInput} one line. */
function refuse(name: string, value: string, format: string, options?: ErrorOptions): never {
  throw new InvalidInput(`${name}=${JSON.stringify(value)} isn't valid: use ${format}`, options);
}
