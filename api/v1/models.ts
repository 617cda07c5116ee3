import { t } from 'elysia';

/** Responses have no undocumented fields. */
export const STRICT = { additionalProperties: false } as const;

export const TimestampModel = t.String({ format: 'date-time', examples: ['2026-11-21T10:00:00+00:00'] });

/** The body of a successful response. @param name its `$id`, the name of its component in the document. */
export function successModel<Fields extends Parameters<typeof t.Object>[0]>(name: string, fields: Fields) {
  return t.Object({ success: t.Literal(true), ...fields }, { ...STRICT, $id: name });
}

/** A union of string literals. */
export function oneOf<Word extends string>(words: readonly Word[]) {
  return t.Unsafe<Word>({ type: 'string', enum: words, examples: [words[0]] });
}
