import type { DocumentDecoration } from 'elysia';
import type { Parameter, ParameterSchema } from '../http/parameters.ts';
import type { Operation } from '../http/route.ts';
import { EXAMPLE_ETAG } from './headers.ts';
import { describeResponses, type Responses } from './responses.ts';
import { referTo } from './schemas.ts';

/** An Operation Object of OpenAPI. */
export function describeOperation(operation: Operation): DocumentDecoration & { responses: Responses } {
  const { id, tag, summary, policy, isExtension = false, scope, parameters, hasEtag, hasGuests } = operation;
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
      ...Object.values(parameters).map((parameter) => referTo('parameters', parameter.id)),
      ...(policy === 'public' || hasEtag ? [referTo('parameters', IF_NONE_MATCH.id)] : []),
    ],
    responses: describeResponses(operation),
    security: policy === 'protected' ? [{ bearer: [] }, { query: [] }, ...(hasGuests ? [{}] : [])] : [],
    ...(isExtension && { 'x-extension': true }),
    ...(scope && { 'x-scope': scope }),
  };
}

/** Evaluated when the response is sent, not by a handler. */
export const IF_NONE_MATCH = {
  id: 'ifNoneMatch',
  in: 'header',
  name: 'If-None-Match',
  description:
    'ETags of responses that the client has, or `*`: the response is 304 when one of them is current.',
  schema: { type: 'string' },
  example: EXAMPLE_ETAG,
} as const;

/** A Parameter Object of OpenAPI. */
export type DescribedParameter = Pick<Parameter, 'name' | 'in' | 'description' | 'example'> & {
  required: boolean;
  schema: Omit<ParameterSchema, 'enum'> & { enum?: string[] };
};

/** A parameter as the document describes it; path parameters are always required. */
export function describeParameter({
  in: place,
  name,
  description,
  schema,
  example,
  isRequired = false,
}: Parameter): DescribedParameter {
  const { enum: values, ...rest } = schema;
  return {
    name,
    in: place,
    required: place === 'path' || isRequired,
    description,
    schema: { ...rest, ...(values && { enum: [...values] }) },
    example,
  };
}
