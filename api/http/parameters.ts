import { type OtherKeys, refuseNearMisses } from './near-misses.ts';
import { isQueryTooLong, QUERY_TOO_LONG, splitQuery } from './query.ts';

/** One parameter of a route, used by its handler and by the OpenAPI document alike. */
export type Parameter<Value = unknown> = {
  /** `query` by default. */
  in?: 'path' | 'query' | 'header';
  /** Its name in the path, query or headers. */
  name: string;
  description: string;
  /** What a client should send, any text by default; `parse` may accept more (letter case, notations), as the description says. */
  schema?: ParameterSchema;
  example: string | number;
  /** For query parameters; `parse` throws when it is absent. */
  isRequired?: boolean;
  /** For filters: wrong names that people try. They are rejected, as are misspellings of `name`. */
  aliases?: readonly string[];
  /** A text that `parse` rejects, for the document's example of status 400; absent when it accepts every text. */
  refused?: string;
  /** Another query parameter that takes precedence: when it is given, this one is not read. */
  ignoredBeside?: string;
  /**
   * @param text undefined when the parameter is absent or empty.
   * @throws {InvalidInput} that names the parameter and says what is allowed.
   */
  parse: (text: string | undefined) => Value;
};

type ParameterSchema = {
  type: 'string' | 'integer';
  enum?: readonly string[];
  minimum?: number;
  maximum?: number;
  default?: number;
  pattern?: string;
};

/** A route's parameters, by the names that its handler uses. */
export type Parameters = Readonly<Record<string, Parameter>>;

/** The parsed values that a handler receives. */
export type Values<P extends Parameters> = { [Name in keyof P]: ReturnType<P[Name]['parse']> };

/** Makes the parser of an optional parameter, which is undefined when absent. */
export function optional<Value>(
  parse: (text: string) => Value,
): (text: string | undefined) => Value | undefined {
  return (text) => (text === undefined ? undefined : parse(text));
}

/**
 * Parses every parameter of a route. Of a repeated key the last counts; an empty one is absent. The query is only
 * split when a parameter is read from it.
 * @throws {InvalidInput} for a query that is too long, else the first invalid parameter, else a misspelled filter.
 */
export function parseParameters<P extends Parameters>(
  { parameters, otherKeys = [] }: { parameters: P; otherKeys?: readonly OtherKeys[] | undefined },
  { request, params = {} }: { request: Request; params?: Readonly<Record<string, string>> },
): Values<P> {
  const values: Record<string, unknown> = {};
  let query: URLSearchParams | undefined;
  const lastOf = (name: string) => {
    if (isQueryTooLong(request.url)) throw QUERY_TOO_LONG.error();
    query ??= splitQuery(request.url);
    return query.getAll(name).at(-1) || undefined;
  };
  const textOf = (place: string, name: string) => {
    if (place === 'path') return params[name] || undefined;
    return place === 'header' ? request.headers.get(name) || undefined : lastOf(name);
  };
  for (const [key, { in: place = 'query', name, ignoredBeside, parse }] of Object.entries(parameters)) {
    const isIgnored = ignoredBeside !== undefined && lastOf(ignoredBeside) !== undefined;
    values[key] = parse(isIgnored ? undefined : textOf(place, name));
  }
  if (query) refuseNearMisses(Object.values(parameters), otherKeys, query.keys());
  return values as Values<P>;
}
