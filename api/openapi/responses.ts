import { type DocumentDecoration, t } from 'elysia';
import { toErrorResponse } from '../http/error-handler.ts';
import {
  DATABASE_OUTAGE,
  type Failure,
  INTERNAL_FAILURE,
  scopeMissing,
  TOKEN_INVALID,
  TOKEN_REQUIRED,
  TOO_MANY_REQUESTS,
} from '../http/failures.ts';
import { filterMisspelled } from '../http/near-misses.ts';
import type { Parameter } from '../http/parameters.ts';
import { QUERY_TOO_LONG } from '../http/query.ts';
import {
  cachedHeaders,
  commonHeaders,
  ERROR_CACHE_CONTROL,
  type Policy,
  PROTECTED_CACHE_CONTROL,
  PUBLIC_CACHE_CONTROL,
} from '../http/responses.ts';
import type { DocumentedHeader, Operation } from '../http/route.ts';
import {
  describeHeaders,
  EXAMPLE_ETAG,
  exampleVerdict,
  headerComponents,
  type RateLimits,
  referToHeaders,
  toKey,
} from './headers.ts';
import { referTo } from './schemas.ts';

/** The body of every error: specification section 7. */
export const ErrorModel = t.Object(
  { success: t.Literal(false), message: t.String({ examples: ['Server not found'] }) },
  { $id: 'Error', additionalProperties: false },
);

/** How every operation can fail. */
const SHARED: Record<Policy, readonly Failure[]> = {
  public: [TOO_MANY_REQUESTS, INTERNAL_FAILURE],
  protected: [TOKEN_REQUIRED, TOKEN_INVALID, TOO_MANY_REQUESTS, INTERNAL_FAILURE, DATABASE_OUTAGE],
};
const REFUSED = 'A parameter is not valid: the message names it and says what is allowed.';
/** For headers that only refer to components: any verdict will do, since the components hold the values. */
const ANY_VERDICT = exampleVerdict(1);

/** Added to every response where the service listens. */
const REQUEST_ID = { 'X-Request-Id': '1b4e28ba-2fa1-41d2-883f-0016d3cca427' };

/** Response Objects of OpenAPI, or references to components, by status. */
export type Responses = NonNullable<DocumentDecoration['responses']>;

/** Every response of an operation, by status. */
export function describeResponses(operation: Operation): Responses {
  const { policy } = operation;
  const failed = groupFailures(operation).map(({ status, key, failures }) => [
    status,
    key ? referTo('responses', key) : describeFailures(policy, failures),
  ]);
  return {
    200: describeSuccess(operation),
    ...((policy === 'public' || operation.hasEtag) && {
      304: referTo('responses', notModifiedKey(operation)),
    }),
    ...Object.fromEntries(failed),
  };
}

/** The responses that operations refer to. */
export function responseComponents(operations: readonly Operation[]): Record<string, object> {
  const components: Record<string, object> = {};
  for (const operation of operations) {
    if (operation.policy === 'public' || operation.hasEtag) {
      components[notModifiedKey(operation)] = describeNotModified(operation);
    }
    for (const { key, failures } of groupFailures(operation)) {
      if (key) components[key] = describeFailures(operation.policy, failures);
    }
  }
  return components;
}

/** The headers that responses refer to, with the limits that this process has. */
export function sharedHeaderComponents(
  operations: readonly Operation[],
  limits: RateLimits,
): Record<string, DocumentedHeader> {
  return Object.assign(
    {},
    ...operations.flatMap((operation) => {
      const { policy, success } = operation;
      const verdict = exampleVerdict(limits[policy]);
      return [
        headerComponents(policy, {
          ...successHeaders(operation, verdict),
          ...encodingHeaders(policy),
        }),
        headerComponents(policy, errorHeaders(policy, verdict)),
        success.headers ?? {},
      ];
    }),
  );
}

function describeSuccess(operation: Operation) {
  const { policy, success } = operation;
  const { model, contentType = 'application/json', headers } = success;
  return {
    description: 'Success.',
    headers: {
      ...referToHeaders(policy, { ...successHeaders(operation), ...encodingHeaders(policy) }),
      ...Object.fromEntries(Object.keys(headers ?? {}).map((name) => [name, referTo('headers', name)])),
    },
    content: { [contentType]: { schema: referTo('schemas', String(model.$id)) } },
  };
}

/** Responses with status 304 differ only in their cache control. */
function notModifiedKey({ policy, cacheControl }: Operation): string {
  return `NotModified.${toKey(cacheControl ?? DEFAULT_CACHE_CONTROL[policy])}`;
}

function describeNotModified(operation: Operation) {
  return {
    description: 'Unchanged: If-None-Match has the current ETag.',
    headers: referToHeaders(operation.policy, successHeaders(operation)),
  };
}

const DEFAULT_CACHE_CONTROL = { public: PUBLIC_CACHE_CONTROL, protected: PROTECTED_CACHE_CONTROL };

function successHeaders(operation: Operation, verdict = ANY_VERDICT): Record<string, string> {
  const { policy, cacheControl = DEFAULT_CACHE_CONTROL[policy], hasEtag } = operation;
  if (policy === 'public')
    return { ...cachedHeaders({ etag: EXAMPLE_ETAG, cacheControl }, verdict), ...REQUEST_ID };
  return {
    ...commonHeaders(policy, verdict, cacheControl),
    ...(hasEtag && { ETag: EXAMPLE_ETAG }),
    ...REQUEST_ID,
  };
}

/** Optional, as all headers of a document are by default; a 304 has no body that could be compressed. */
function encodingHeaders(policy: Policy): Record<string, string> {
  return policy === 'public' ? { 'Content-Encoding': 'gzip' } : {};
}

function errorHeaders(policy: Policy, verdict = ANY_VERDICT) {
  return { ...commonHeaders(policy, verdict, ERROR_CACHE_CONTROL[policy]), ...REQUEST_ID };
}

/** Failures by status, with the key of a component where several operations share them. */
function groupFailures({ policy, parameters, scope, failures: own }: Operation) {
  const hasQuery = Object.values(parameters).some((parameter) => parameter.in === 'query');
  const filter = Object.values(parameters).find(({ aliases }) => aliases !== undefined);
  const refusals = [
    ...Object.values(parameters).flatMap(describeRefusals),
    ...(filter ? [filterMisspelled(filter.name)] : []),
    ...(hasQuery ? [QUERY_TOO_LONG] : []),
  ];
  const all = [...refusals, ...(scope ? [scopeMissing(scope)] : []), ...own, ...SHARED[policy]];
  return [...Map.groupBy(all, ({ response }) => response.status)].map(([status, failures]) => {
    const isOwn = failures.some((failure) => refusals.includes(failure));
    return {
      status,
      failures,
      key: isOwn ? undefined : policy + failures.map(({ name }) => name).join('Or'),
    };
  });
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

function describeFailures(policy: Policy, failures: readonly Failure[]) {
  const own = Object.assign({}, ...failures.map(({ response }) => response.headers));
  return {
    description: [...new Set(failures.map(({ description }) => description))].join(' '),
    headers: { ...referToHeaders(policy, errorHeaders(policy)), ...describeHeaders(own) },
    content: {
      'application/json': {
        schema: referTo('schemas', String(ErrorModel.$id)),
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
