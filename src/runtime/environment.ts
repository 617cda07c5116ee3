import { readFileSync } from 'node:fs';
import { InvalidInput } from '../domain/errors.ts';
import { splitList } from '../domain/text/list.ts';
import { tryNormalizeNetwork } from './address.ts';

/** How one variable of the environment is read. Each function takes the variable's name and throws {@link refusal}. */

export type Variables = Readonly<Record<string, string | undefined>>;

/** The trimmed value of a variable; undefined when it is unset or empty. */
export type Env = (name: string) => string | undefined;

/** @param defaults values of variables that are unset or empty. */
export function readEnvironment(variables: Variables, defaults: Variables): Env {
  return (name) => variables[name]?.trim() || defaults[name];
}

/** A variable that may have any value. */
export function text(env: Env, name: string): string | undefined {
  return env(name);
}

/**
 * A secret: the value of the variable, or the trimmed content of the file that `NAME_FILE` names.
 * @throws {InvalidInput} when both are set, and when the file is empty or cannot be read.
 */
export function secret(env: Env, name: string): string | undefined {
  const value = env(name);
  const path = env(`${name}_FILE`);
  if (path === undefined) return value;
  if (value !== undefined) throw new InvalidInput(`${name} and ${name}_FILE are both set: use one of them`);
  const content = readFile(`${name}_FILE`, path).trim();
  if (content !== '') return content;
  throw refusal(`${name}_FILE`, path, 'a file that is not empty');
}

function readFile(name: string, path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw refusal(name, path, 'a file that this process may read', { cause });
  }
}

/** The values between commas, without empty ones. */
export function list(env: Env, name: string): string[] {
  return splitList(text(env, name) ?? '');
}

type Range = { byDefault: number; min: number; max: number };

/** A whole number of at most 15 digits, `min` and `max` included. */
export function integer(env: Env, name: string, { byDefault, min, max }: Range): number {
  const value = text(env, name);
  if (value === undefined) return byDefault;
  const number = /^-?[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw refusal(name, value, `a whole number from ${min} to ${max}`);
}

/** A number such as `-18.5`, `min` and `max` included. */
export function decimal(env: Env, name: string, { byDefault, min, max }: Range): number {
  const value = text(env, name);
  if (value === undefined) return byDefault;
  const number = /^-?[0-9]{1,9}(\.[0-9]{1,9})?$/.test(value) ? Number(value) : Number.NaN;
  if (number >= min && number <= max) return number;
  throw refusal(name, value, `a number from ${min} to ${max}`);
}

/** One of a closed set of words. */
export function oneOf<T extends string>(env: Env, name: string, allowed: readonly T[]): T | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  const found = allowed.find((item) => item === value);
  if (found) return found;
  throw refusal(name, value, `one of ${allowed.join(', ')}`);
}

/** A text that matches `pattern`; `allowed` describes the pattern in the error message. */
export function matching(env: Env, name: string, pattern: RegExp, allowed: string): string | undefined {
  const value = text(env, name);
  if (value === undefined || pattern.test(value)) return value;
  throw refusal(name, value, allowed);
}

/** The same for a {@link secret}, whose password no message repeats. */
export function matchingSecret(env: Env, name: string, pattern: RegExp, allowed: string): string | undefined {
  const value = secret(env, name);
  if (value === undefined || pattern.test(value)) return value;
  throw refusal(name, withoutPassword(value), allowed);
}

/** A URL as it was given. @param schemes the allowed ones, without colon. */
export function url(
  env: Env,
  name: string,
  schemes: string[],
  { maxLength = Number.POSITIVE_INFINITY } = {},
): string | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  if (value.length > maxLength) throw refusal(name, value, `an address of at most ${maxLength} characters`);
  return checkUrl(name, value, schemes);
}

/** A URL that is a {@link secret}: no message repeats its password. */
export function secretUrl(env: Env, name: string, schemes: string[]): string | undefined {
  const value = secret(env, name);
  return value === undefined ? undefined : checkUrl(name, value, schemes, { hasPassword: true });
}

/** The same check for one value of a list. */
export function checkUrl(
  name: string,
  value: string,
  schemes: string[],
  { hasPassword = false } = {},
): string {
  const scheme = URL.canParse(value) ? new URL(value).protocol.slice(0, -1) : undefined;
  if (scheme !== undefined && schemes.includes(scheme)) return value;
  throw refusal(
    name,
    hasPassword ? withoutPassword(value) : value,
    `an address that begins with ${schemes.map((name) => (name === 'mailto' ? 'mailto:' : `${name}://`)).join(' or ')}`,
  );
}

/** Replaces whatever may be a user name and a password. */
export function withoutPassword(value: string): string {
  return value.replace(/^([a-z]+:\/\/)?.*@/is, '$1…@');
}

/** An address or a network in CIDR notation. */
export function network(name: string, value: string): string {
  const normalized = tryNormalizeNetwork(value);
  if (normalized !== undefined) return normalized;
  throw refusal(
    name,
    value,
    'addresses or networks such as 10.0.0.0/8, 127.0.0.1 or fd00::/8, separated by commas',
  );
}

/** A name of the IANA time zone database. */
export function timezone(env: Env, name: string): string | undefined {
  const value = text(env, name);
  if (value === undefined) return undefined;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: value }).resolvedOptions().timeZone && value;
  } catch {
    throw refusal(name, value, 'a time zone such as UTC or Europe/Warsaw');
  }
}

/** The error of a value that is not allowed. @param allowed what to give instead. */
export function refusal(name: string, value: string, allowed: string, options?: ErrorOptions): InvalidInput {
  return new InvalidInput(`${name}=${JSON.stringify(value)} isn't valid: use ${allowed}`, options);
}
