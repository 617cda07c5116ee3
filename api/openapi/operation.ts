import type { TSchema } from 'elysia';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { Failure } from '../http/failures.ts';
import type { Parameters } from '../http/parameters.ts';
import type { Policy } from '../http/responses.ts';
import type { DocumentedHeader } from './headers.ts';

/** The groups of the document, in their order, and their descriptions. */
export const TAGS = {
  Servers: 'Game servers: their state at the last poll, and their history.',
  Players: 'Players by SteamID or name: round-end sounds, search, Steam bans.',
  Penalties: 'Bans, mutes, gags, silences and warnings.',
  Users: 'People who signed in here, with their linked Discord account and flags.',
  Events: 'What happens to penalties and servers, as a list and as a stream.',
};

/** One route, as its handler and the OpenAPI document use it. */
export type Operation<P extends Parameters = Parameters> = {
  /** A verb and a noun in camelCase, which generated clients use as the name of the function. */
  id: string;
  tag: keyof typeof TAGS;
  summary: string;
  description?: string;
  /** Whether it is an extension of the specification of version 1. */
  isExtension?: boolean;
  /** Which limit counts its requests; a protected operation needs a token. */
  policy: Policy;
  /** The scope that a token needs; every protected operation has one. */
  scope?: TokenScope;
  /** For protected operations that wait for more than the database: exempt from the shared wait limit. */
  hasOwnTimeLimit?: boolean;
  parameters: P;
  /** Of a success: by default some seconds for public operations, `private, no-cache` for protected ones. */
  cacheControl?: string;
  success: {
    /** Has an `$id`. */
    model: TSchema;
    /** JSON by default. */
    contentType?: string;
    /** Headers besides those of every response. */
    headers?: Record<string, DocumentedHeader>;
  };
  /** Its own failures, besides invalid parameters and those of every operation of its policy. */
  failures: readonly Failure[];
};
