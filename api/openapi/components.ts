import type { DocumentedHeader, Operation } from '../http/route.ts';
import { describeParameter, IF_NONE_MATCH } from './describe.ts';
import type { RateLimits } from './headers.ts';
import { ErrorModel, responseComponents, sharedHeaderComponents } from './responses.ts';
import { collectSchemas } from './schemas.ts';

/** The document's `components`, by kind and name. */
export type Components = {
  schemas: Record<string, unknown>;
  parameters: Record<string, unknown>;
  headers: Record<string, DocumentedHeader>;
  responses: Record<string, object>;
};

/**
 * The document's `components`, which the operations refer to.
 * @throws when two parameters or two models have one name.
 */
export function buildComponents(operations: readonly Operation[], limits: RateLimits): Components {
  return {
    schemas: collectSchemas([...operations.map(({ success }) => success.model), ErrorModel]),
    parameters: collectParameters(operations),
    headers: sharedHeaderComponents(operations, limits),
    responses: responseComponents(operations),
  };
}

function collectParameters(operations: readonly Operation[]) {
  const { id, ...ifNoneMatch } = IF_NONE_MATCH;
  const components: Record<string, unknown> = { [id]: ifNoneMatch };
  const known = new Map<string, unknown>();
  for (const parameter of operations.flatMap(({ parameters }) => Object.values(parameters))) {
    const same = known.get(parameter.id);
    if (same && same !== parameter) throw new Error(`two parameters are called ${parameter.id}`);
    known.set(parameter.id, parameter);
    components[parameter.id] = describeParameter(parameter);
  }
  return components;
}
