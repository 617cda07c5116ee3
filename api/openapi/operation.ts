import { type DocumentDecoration, t } from 'elysia';
import {
  DATABASE_BUSY,
  DATABASE_OUTAGE,
  type Failure,
  INTERNAL_FAILURE,
  scopeMissing,
  TOKEN_INVALID,
  TOKEN_REQUIRED,
  TOO_MANY_REQUESTS,
} from '../http/documented-failures.ts';
import { encodedHeaders } from '../http/encoding.ts';
import { toErrorResponse } from '../http/error-handler.ts';
import { filterMisspelled } from '../http/near-misses.ts';
import type { Parameter } from '../http/parameters.ts';
import { QUERY_TOO_LONG } from '../http/query.ts';
import {
  commonHeaders,
  ERROR_CACHE_CONTROL,
  type Policy,
  type RateLimits,
  SUCCESS_CACHE_CONTROL,
} from '../http/responses.ts';
import type { DocumentedHeader, Operation } from '../http/route-definition.ts';
import { referToSchema } from './schemas.ts';

/** Response Objects of OpenAPI, by status. */
type Responses = NonNullable<DocumentDecoration['responses']>;

/** The body of every error: specification section 7. */
export const ErrorModel = t.Object(
  { success: t.Literal(false), message: t.String({ examples: ['Server not found'] }) },
  { $id: 'Error', additionalProperties: false },
);

/** How every operation can fail. */
const SHARED: Record<Policy, readonly Failure[]> = {
  public: [TOO_MANY_REQUESTS, INTERNAL_FAILURE],
  protected: [
    TOKEN_REQUIRED,
    TOKEN_INVALID,
    TOO_MANY_REQUESTS,
    INTERNAL_FAILURE,
    DATABASE_BUSY,
    DATABASE_OUTAGE,
  ],
};
const REFUSED = 'A parameter is not valid: the message names it and says what is allowed.';
/** In the form that the service sends. */
const EXAMPLE_ETAG = 'W/"1x2y3z"';
/** Added to every response where the service listens. */
const REQUEST_ID = { 'X-Request-Id': '1b4e28ba-2fa1-41d2-883f-0016d3cca427' };

/** Evaluated when the response is sent, not by a handler. */
const IF_NONE_MATCH = {
  name: 'If-None-Match',
  in: 'header',
  description:
    'ETags of responses that the client has, or `*`: the response is 304 when one of them is current.',
  schema: { type: 'string' },
  example: EXAMPLE_ETAG,
} as const;

/** An Operation Object of OpenAPI. @throws when a parameter accepts its documented invalid example. */
export function describeOperation(operation: Operation, limits: RateLimits): object {
  const { id, tag, summary, policy, isExtension = false, scope, parameters, hasGuests } = operation;
  const description = [
    isExtension ? 'Extension: not part of the specification of version 1.' : undefined,
    operation.description,
    scope && `Needs a token with the scope \`${scope}\`.`,
  ].filter((sentence) => sentence !== undefined);
  return {
    operationId: id,
    tags: [tag],
    summary,
    ...(description.length > 0 && { description: description.join(' ') }),
    parameters: [
      ...Object.values(parameters).map(describeParameter),
      ...(isConditional(operation) ? [IF_NONE_MATCH] : []),
    ],
    responses: describeResponses(operation, limits[policy]),
    security: policy === 'protected' ? [{ bearer: [] }, { query: [] }, ...(hasGuests ? [{}] : [])] : [],
    ...(isExtension && { 'x-extension': true }),
    ...(scope && { 'x-scope': scope }),
  };
}

/** A Parameter Object of OpenAPI; path parameters are always required. */
function describeParameter({
  in: place = 'query',
  name,
  description,
  schema = { type: 'string' },
  example,
  isRequired = false,
}: Parameter) {
  return { name, in: place, required: place === 'path' || isRequired, description, schema, example };
}

function isConditional({ policy, hasEtag }: Operation): boolean {
  return policy === 'public' || hasEtag === true;
}

function describeResponses(operation: Operation, limit: number): Responses {
  const { policy, success } = operation;
  const { model, contentType = 'application/json' } = success;
  const decision = { isAllowed: true, limit, remaining: limit - 1, resetSeconds: 60 };
  const { cacheControl = SUCCESS_CACHE_CONTROL[policy] } = operation;
  const headers = {
    ...commonHeaders(policy, decision, cacheControl),
    ...(operation.hasEtag && { ETag: EXAMPLE_ETAG }),
    ...(policy === 'public' && encodedHeaders({ etag: EXAMPLE_ETAG })),
    ...REQUEST_ID,
  };
  const errorHeaders = { ...commonHeaders(policy, decision, ERROR_CACHE_CONTROL[policy]), ...REQUEST_ID };
  return {
    200: {
      description: 'Success.',
      headers: {
        // Optional, as all headers of a document are by default.
        ...describeHeaders({ ...headers, ...(policy === 'public' && { 'Content-Encoding': 'gzip' }) }),
        ...success.headers,
      },
      content: { [contentType]: { schema: referToSchema(model) } },
    },
    ...(isConditional(operation) && {
      304: {
        description: 'Unchanged: If-None-Match has the current ETag.',
        headers: describeHeaders(headers),
      },
    }),
    ...Object.fromEntries(
      [...Map.groupBy(listFailures(operation), ({ response }) => response.status)].map(
        ([status, failures]) => [status, describeFailures(failures, errorHeaders)],
      ),
    ),
  };
}

function listFailures({ policy, parameters, scope, failures = [] }: Operation): Failure[] {
  const all = Object.values(parameters);
  const filter = all.find(({ aliases }) => aliases !== undefined);
  return [
    ...all.flatMap(describeRefusals),
    ...(filter ? [filterMisspelled(filter.name)] : []),
    ...(all.some(({ in: place = 'query' }) => place === 'query') ? [QUERY_TOO_LONG] : []),
    ...(scope ? [scopeMissing(scope)] : []),
    ...failures,
    ...SHARED[policy],
  ];
}

/** The errors of a parameter's parser: for its `refused` example, and for its absence when it is required. */
function describeRefusals({ name, refused, isRequired, parse }: Parameter): Failure[] {
  return [
    ...(refused === undefined ? [] : [{ example: name, text: refused }]),
    ...(isRequired ? [{ example: `${name}.absent`, text: undefined }] : []),
  ].map(({ example, text }) => {
    try {
      parse(text);
    } catch (error) {
      return { name: example, description: REFUSED, response: toErrorResponse(error) };
    }
    throw new Error(`the parameter ${name} does not refuse ${JSON.stringify(text)}`);
  });
}

function describeFailures(failures: readonly Failure[], headers: Record<string, string>) {
  return {
    description: [...new Set(failures.map(({ description }) => description))].join(' '),
    headers: describeHeaders(
      Object.assign({ ...headers }, ...failures.map(({ response }) => response.headers)),
    ),
    content: {
      'application/json': {
        schema: referToSchema(ErrorModel),
        examples: Object.fromEntries(
          failures.map(({ name, response }) => [
            name,
            { value: { success: false, message: response.message } },
          ]),
        ),
      },
    },
  };
}

type HeaderText = Omit<DocumentedHeader, 'example'>;

/** Headers that are not listed here have the same value in every response; the value is their schema. */
const VARYING: Record<string, HeaderText> = {
  'X-RateLimit-Limit': {
    description: 'Requests allowed in any 60 seconds.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left at this moment.',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Policy': {
    description: 'The policy, in the form of the IETF draft: its name, requests and seconds.',
    schema: { type: 'string', pattern: '^"[a-z]+";q=[0-9]+;w=60$' },
  },
  RateLimit: {
    description: 'Requests left, and the seconds until one more is allowed.',
    schema: { type: 'string', pattern: '^"[a-z]+";r=[0-9]+;t=[0-9]+$' },
  },
  'X-RateLimit-Reset': {
    description: 'The Unix time, in seconds, from which one more request is allowed.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': {
    description: 'The scheme, with an error code when the token given is not valid.',
    schema: { type: 'string', pattern: '^Bearer( error="[a-z_]+")?$' },
  },
  'X-Request-Id': {
    description:
      'Names the request in the log of the service: your own X-Request-Id if it is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-". A shared cache may repeat it.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  ETag: {
    description: 'Weak tag of everything in the body but cached_at, for If-None-Match.',
    schema: { type: 'string', pattern: '^W/"[0-9a-z]+"$' },
  },
};
const FIXED: Record<string, string> = {
  'Cache-Control': 'How long the response may be kept, and by whom.',
  Vary: 'Request headers that the response depends on.',
  'Content-Encoding': 'Absent unless the request has an Accept-Encoding that allows gzip.',
  'Access-Control-Allow-Origin': 'Pages of any origin may read the response.',
  'Access-Control-Expose-Headers': 'Headers that pages of other origins may read.',
};

/** Headers as the document describes them. @param headers names and values as they are sent. */
function describeHeaders(headers: Record<string, string>): Record<string, DocumentedHeader> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, describeHeader(name, value)]),
  );
}

/** @throws when a header has no description: it would be sent but not documented. */
function describeHeader(name: string, value: string): DocumentedHeader {
  const varying = VARYING[name];
  if (varying) return { ...varying, example: varying.schema.type === 'integer' ? Number(value) : value };
  const description = FIXED[name];
  if (!description) throw new Error(`the header ${name} has no description`);
  return { description, schema: { type: 'string', enum: [value] }, example: value };
}
