import { refuseNearMisses } from './near-misses.ts';
import { requireShortQuery, splitQuery } from './query.ts';

/** One parameter of a route: what the handler reads and what the OpenAPI document says are the same object. */
export type Parameter<Value = unknown> = {
  /** The name of its component in the document; unique. */
  id: string;
  in: 'path' | 'query';
  /** Its name in the address. */
  name: string;
  description: string;
  /** What a client should send; `parse` may take more (letter case, notations), as the description says. */
  schema: ParameterSchema;
  example: string | number;
  /** Of the query: without it `parse` throws. */
  isRequired?: boolean;
  /** Of a filter: other names that people give it. They are refused, as is what nearly spells its own name. */
  aliases?: readonly string[];
  /** A text that `parse` refuses, for the document's example of status 400; absent when it takes every text. */
  refused?: string;
  /** Another parameter of the query: when that is given, this one is not read. */
  ignoredBeside?: string;
  /**
   * @param text undefined when the parameter is absent or empty.
   * @throws {InvalidInput} that names the parameter and says what is allowed.
   */
  parse: (text: string | undefined) => Value;
};

export type ParameterSchema = {
  type: 'string' | 'integer';
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  default?: number;
  pattern?: string;
};

/** A route's parameters, by the names that its handler has for their values. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** What a handler receives. */
export type Values<P extends Parameters> = { [Name in keyof P]: ReturnType<P[Name]['parse']> };

/** Makes the parser of an optional parameter: what is absent stays undefined. */
export function optional<Value>(
  parse: (text: string) => Value,
): (text: string | undefined) => Value | undefined {
  return (text) => (text === undefined ? undefined : parse(text));
}

/**
 * Reads every parameter of a route. A repeated key counts once, the last; an empty one is absent. The query is split only
 * where a parameter is read from it.
 * @throws {InvalidInput} of a query that is too long, else of the first parameter that is not allowed, else of a filter's name
 * that is spelled wrong.
 */
export function parseParameters<P extends Parameters>(
  parameters: P,
  { request, params = {} }: { request: Request; params?: Readonly<Record<string, string>> },
): Values<P> {
  const given: Record<string, unknown> = {};
  let query: URLSearchParams | undefined;
  const lastOf = (name: string) => {
    requireShortQuery(request.url);
    query ??= splitQuery(request.url);
    return query.getAll(name).at(-1) || undefined;
  };
  for (const [key, { in: place, name, ignoredBeside, parse }] of Object.entries(parameters)) {
    const isIgnored = ignoredBeside !== undefined && lastOf(ignoredBeside) !== undefined;
    const text = place === 'path' ? params[name] || undefined : lastOf(name);
    given[key] = parse(isIgnored ? undefined : text);
  }
  if (query) refuseNearMisses(Object.values(parameters), query.keys());
  return given as Values<P>;
}
