import type { Server } from 'bun';
import type { TSchema } from 'elysia';
import type { TokenScope } from '../../src/domain/rights/token-scope.ts';
import type { ApiToken } from '../../src/queries/users/api-tokens.ts';
import type { Failure } from './documented-failures.ts';
import type { EncodedBody } from './encoding.ts';
import type { OtherKeys } from './near-misses.ts';
import type { Parameters, Values } from './parameters.ts';
import type { Policy, ProtectedResponse } from './responses.ts';

/** The groups of the document, in their order, and their descriptions. */
export const TAGS = {
  Servers: 'Game servers: their state at the last poll, and their history.',
  Players: 'Players by SteamID or name: round-end sounds, search, Steam bans.',
  Penalties: 'Bans, mutes, gags, silences and warnings.',
  Users: 'People who signed in here, with their linked Discord account and flags.',
  Events: 'What happens to penalties and servers, as a list and as a stream.',
};

/** A header, as the OpenAPI document describes it. */
export type DocumentedHeader = {
  description: string;
  schema: { type: 'string' | 'integer'; enum?: string[]; pattern?: string; minimum?: number };
  example: string | number;
};

/** What every route says of itself, for its handler and for the OpenAPI document. */
type Description<P extends Parameters> = {
  /** Below the base, with path parameters as `:name`. Elysia allows one name only for the same segment. */
  path: string;
  /** Its `operationId`: a verb and a noun in camelCase, which generated clients use as the name of the function. */
  id: string;
  tag: keyof typeof TAGS;
  summary: string;
  description?: string;
  /** Whether it is an extension of the specification of version 1. */
  isExtension?: boolean;
  parameters: P;
  /** Keys by which other APIs name what this one has; rejected with its name. For routes with filters. */
  otherKeys?: readonly OtherKeys[];
  /** Of a success: by default some seconds for public routes, `private, no-cache` for protected ones. */
  cacheControl?: string;
  success: {
    /** Has an `$id`. */
    model: TSchema;
    /** Of a stream; by default the response is JSON. */
    contentType?: string;
    /** Headers besides those of every response. */
    headers?: Record<string, DocumentedHeader>;
  };
  /** Its own failures, besides invalid parameters and those of every route of its policy. */
  failures?: readonly Failure[];
};

type ProtectedDescription<P extends Parameters> = Description<P> & {
  /** The scope that a token needs; any token will do without it. */
  scope?: TokenScope;
  /** A success has an ETag, and is 304 to a client that has it; public routes always do that. */
  hasEtag?: boolean;
};

/** The part of Elysia's context that routes use. With the whole of it, Elysia would parse parts that no route reads. */
export type Incoming = {
  request: Request;
  server: Server<unknown> | null;
  /** Path parameters. */
  params?: Readonly<Record<string, string>>;
};

type ProtectedContext = {
  token: ApiToken;
  /** Requests a minute that the token allows. */
  limit: number;
  now: Date;
  /** Whether the request is HEAD: the body of a stream is not read then, see `unreadStream`. */
  isHead: boolean;
};
/** Requests of a protected route that need no token, and count against the public limit. */
type Guests<P extends Parameters> = {
  isFor: (request: Request) => boolean;
  /** `address`: the key of their limits. */
  work: (values: Values<P>, context: { address: string; isHead: boolean }) => ProtectedResponse;
};

/** What wraps every handler. */
export type Pipeline = {
  /** For routes that need no token. */
  handlePublic: <P extends Parameters>(
    incoming: Incoming,
    route: Pick<Description<P>, 'id' | 'parameters' | 'otherKeys' | 'cacheControl'>,
    work: (values: Values<P>) => EncodedBody | Promise<EncodedBody>,
  ) => Response | Promise<Response>;
  /** For routes that need a token. */
  handleProtected: <P extends Parameters>(
    incoming: Incoming,
    route: Omit<ProtectedDescription<P>, 'path' | 'tag' | 'summary' | 'success'>,
    work: (values: Values<P>, context: ProtectedContext) => Promise<ProtectedResponse>,
    guests?: Guests<P>,
  ) => Promise<Response>;
};

/** A route without its handler, as the OpenAPI document describes it. */
export type Operation = ProtectedDescription<Parameters> & {
  /** Which limit counts its requests; a protected route needs a token. */
  policy: Policy;
  /** Whether some requests need no token. */
  hasGuests?: boolean;
};

/** A route that is mounted by being listed in `api/v1/routes.ts`. */
export type Route<Deps> = Operation & {
  bind: (pipeline: Pipeline, deps: Deps) => (incoming: Incoming) => Response | Promise<Response>;
};

/** Defines a route that needs no token and sends cached bodies. All routes are GET. */
export function publicRoute<P extends Parameters, Deps>({
  handle,
  ...route
}: Description<P> & {
  handle: (deps: Deps, values: Values<P>) => EncodedBody | Promise<EncodedBody>;
}): Route<Deps> {
  return {
    ...route,
    policy: 'public',
    bind: (pipeline, deps) => (incoming) =>
      pipeline.handlePublic(incoming, route, (values) => handle(deps, values)),
  };
}

/** Defines a route that needs a token; `guests`: for routes that some requests may use without one. */
export function protectedRoute<P extends Parameters, Deps>({
  handle,
  guests,
  ...route
}: ProtectedDescription<P> & {
  handle: (deps: Deps, values: Values<P>, context: ProtectedContext) => Promise<ProtectedResponse>;
  guests?: (deps: Deps) => Guests<P>;
}): Route<Deps> {
  return {
    ...route,
    policy: 'protected',
    hasGuests: guests !== undefined,
    bind: (pipeline, deps) => {
      const boundGuests = guests?.(deps);
      return (incoming) =>
        pipeline.handleProtected(incoming, route, (...work) => handle(deps, ...work), boundGuests);
    },
  };
}
