import { LIMITS } from './discord-limits.ts';

/** A component's state is stored in its `custom_id`, so that buttons survive a restart. */
type CustomId = { name: string; args: string[] };

const SEPARATOR = ':';

/**
 * Joins a name and arguments without colons: ids, page numbers and words of closed sets.
 * @throws {Error} when the result is longer than Discord allows.
 */
export function toCustomId(name: string, ...args: (string | number)[]): string {
  const id = [name, ...args].join(SEPARATOR);
  if (id.length > LIMITS.customId) {
    throw new Error(`custom_id ${id} is longer than ${LIMITS.customId} characters`);
  }
  return id;
}

/** Splits a `custom_id`. Anyone can forge one, so the caller checks each argument. */
export function parseCustomId(id: string): CustomId {
  const [name = '', ...args] = id.split(SEPARATOR);
  return { name, args };
}

/** A positive number of at most nine digits; undefined for everything else. */
export function tryParsePositive(arg: string | undefined): number | undefined {
  return arg !== undefined && /^[1-9][0-9]{0,8}$/.test(arg) ? Number(arg) : undefined;
}
