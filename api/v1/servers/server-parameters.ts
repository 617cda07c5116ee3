import { NotFound } from '../../../src/domain/errors.ts';
import { defineFailure } from '../../http/failures.ts';
import type { Parameter } from '../../http/parameters.ts';

export const SERVER_NOT_FOUND = defineFailure(
  'ServerNotFound',
  'There is no such server.',
  () => new NotFound('Server not found'),
);

export const SLUG_PARAMETER = {
  in: 'path',
  name: 'server',
  description: 'The slug, never the id.',
  example: 'only-mirage-1',
  parse: (text: string | undefined) => text ?? '',
} as const satisfies Parameter<string>;

/** Undefined for an invalid id, which no server has. */
export const SERVER_ID_PARAMETER = {
  in: 'path',
  name: 'server',
  description: 'The numeric id, never the slug.',
  schema: { type: 'integer', minimum: 1 },
  example: 3,
  parse: (text = '') => (/^[1-9][0-9]{0,9}$/.test(text) ? Number(text) : undefined),
} as const satisfies Parameter<number | undefined>;
