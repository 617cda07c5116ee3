/** A JSON Schema or a subschema. */
type Schema = { readonly [keyword: string]: unknown };

/** A reference to a component of the document. */
export function referTo(
  kind: 'headers' | 'parameters' | 'responses' | 'schemas',
  key: string,
): { $ref: string } {
  return { $ref: `#/components/${kind}/${key}` };
}

/**
 * The schemas of models and of every model inside them that has an `$id`, by that name.
 * @throws when two models have one name.
 */
export function collectSchemas(models: readonly unknown[]): Record<string, unknown> {
  const found = new Map<string, Schema>();
  const visit = (model: unknown): void => {
    if (Array.isArray(model)) for (const inner of model) visit(inner);
    if (!isSchema(model)) return;
    if (typeof model.$id === 'string') {
      const known = found.get(model.$id);
      if (known === model) return;
      if (known) throw new Error(`two models are called ${model.$id}`);
      found.set(model.$id, model);
    }
    for (const inner of Object.values(model)) visit(inner);
  };
  visit(models);
  return Object.fromEntries([...found].map(([name, { $id: _, ...model }]) => [name, toOpenApiSchema(model)]));
}

/**
 * Turns a TypeBox model into the dialect of OpenAPI 3.0.3, which has neither `const`, `examples` nor a type `null`.
 * A model with an `$id` becomes a reference. Strings that Elysia's `t.Integer` also accepts as input are left out:
 * responses hold numbers.
 * @see https://spec.openapis.org/oas/v3.0.3#schema-object
 */
function toOpenApiSchema(model: unknown): unknown {
  if (Array.isArray(model)) return model.map(toOpenApiSchema);
  if (!isSchema(model)) return model;
  if (typeof model.$id === 'string') return referTo('schemas', model.$id);
  const { anyOf, examples, const: constant, ...rest } = model;
  const plain: Record<string, unknown> = { ...rest };
  if (isSchema(rest.properties)) {
    plain.properties = Object.fromEntries(
      Object.entries(rest.properties).map(([name, property]) => [name, toOpenApiSchema(property)]),
    );
  }
  if (rest.items !== undefined) plain.items = toOpenApiSchema(rest.items);
  if (constant !== undefined) plain.enum = [constant];
  if (Array.isArray(examples)) plain.example = examples[0];
  if (rest.type === 'null') return { ...plain, ...NULL };
  return Array.isArray(anyOf) ? mergeAlternatives(plain, anyOf.filter(isSchema)) : plain;
}

/** `null` in OpenAPI 3.0.3. */
const NULL = { type: 'string', nullable: true, enum: [null] };

function mergeAlternatives(plain: Schema, alternatives: readonly Schema[]): Schema {
  const isNullable = alternatives.some(({ type }) => type === 'null');
  const left = alternatives
    .filter(({ type, format }) => type !== 'null' && !(type === 'string' && format === 'integer'))
    .map(toOpenApiSchema)
    .filter(isSchema);
  const nullable = isNullable ? { nullable: true } : {};
  const [only] = left;
  // Keywords beside `$ref` are ignored in OpenAPI 3.0.3.
  if (isNullable && left.some(({ $ref }) => $ref !== undefined)) return { ...plain, anyOf: [...left, NULL] };
  if (left.length === 1) return { ...only, ...plain, ...nullable };
  const values = left.flatMap((schema) => (Array.isArray(schema.enum) ? schema.enum : []));
  if (values.length === left.length) return { ...plain, type: only?.type, enum: values, ...nullable };
  return { ...plain, ...nullable, anyOf: left };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
