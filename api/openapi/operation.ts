import type { TSchema } from 'elysia';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { Failure } from '../http/failures.ts';
import type { Parameters } from '../http/parameters.ts';
import type { Policy } from '../http/responses.ts';
import type { DocumentedHeader } from './headers.ts';

/** The groups of the document, in their order. */
export const TAGS = ['Servers', 'Players', 'Penalties', 'Users', 'Events'] as const;

/** One route, as its handler and the OpenAPI document know it. */
export type Operation<P extends Parameters = Parameters> = {
  /** A verb and a noun in camelCase: clients generated from the document call their functions so. */
  id: string;
  tag: (typeof TAGS)[number];
  summary: string;
  description?: string;
  /** Whether the specification of version 1 does not have it. */
  isExtension?: boolean;
  /** Which limit counts its requests; a protected operation needs a token. */
  policy: Policy;
  /** What the token must be allowed to read; every protected operation has one. */
  scope?: TokenScope;
  /** Of a protected operation that waits for others than the database: it says itself for how long. */
  hasOwnTimeLimit?: boolean;
  parameters: P;
  /** Of a public operation, some seconds by default; nobody keeps the responses of a protected one. */
  cacheControl?: string;
  success: {
    /** Has an `$id`. */
    model: TSchema;
    /** JSON by default. */
    contentType?: string;
    /** Headers besides those of every response. */
    headers?: Record<string, DocumentedHeader>;
  };
  /** How it fails, besides refused parameters and what happens to every operation of its policy. */
  failures: readonly Failure[];
};
