import { type TSchema, t } from 'elysia';

export const TimestampModel = t.String({ format: 'date-time', examples: ['2026-11-21T10:00:00+00:00'] });

export const SteamId64Model = t.String({ pattern: '^[0-9]{17}$', examples: ['76561198000000001'] });

type Properties = Parameters<typeof t.Object>[0];

/** Responses have no undocumented fields. */
const STRICT = { additionalProperties: false } as const;

/** An object within another model. */
export function strictObject<Fields extends Properties>(fields: Fields, description?: string) {
  return t.Object(fields, { ...STRICT, ...(description && { description }) });
}

/** An object with a name. @param name its `$id`, the name of its component in the document. */
export function namedObject<Fields extends Properties>(name: string, fields: Fields, description?: string) {
  return t.Object(fields, { ...STRICT, $id: name, ...(description && { description }) });
}

/** The body of a successful response. @param name as for {@link namedObject}. */
export function successModel<Fields extends Properties>(name: string, fields: Fields) {
  return namedObject(name, { success: t.Literal(true), ...fields });
}

/** A model that also allows null. @param description says what null means. */
export function nullable<Model extends TSchema>(model: Model, description?: string) {
  return t.Union([model, t.Null()], description === undefined ? {} : { description });
}

/** A whole number from 0. */
export function count(example: number, description?: string) {
  return t.Integer({ minimum: 0, ...(description && { description }), examples: [example] });
}

/** A union of string literals. */
export function oneOf<Word extends string>(words: readonly Word[]) {
  return t.Unsafe<Word>({ type: 'string', enum: words, examples: [words[0]] });
}
