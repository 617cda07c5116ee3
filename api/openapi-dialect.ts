/** A JSON Schema, or what stands inside one. */
type Schema = { readonly [keyword: string]: unknown };

/**
 * Turns a TypeBox model into the dialect of OpenAPI 3.0.3, which has neither `const`, `examples` nor a type `null`,
 * and takes out the strings that Elysia's `t.Integer` also accepts as input: our answers hold numbers.
 * @see https://spec.openapis.org/oas/v3.0.3#schema-object
 */
export function toOpenApiSchema(model: unknown): unknown {
  if (Array.isArray(model)) return model.map(toOpenApiSchema);
  if (!isSchema(model)) return model;
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
  if (rest.type === 'null') return { ...plain, type: 'string', nullable: true, enum: [null] };
  return Array.isArray(anyOf) ? mergeAlternatives(plain, anyOf.filter(isSchema)) : plain;
}

function mergeAlternatives(plain: Schema, alternatives: readonly Schema[]): Schema {
  const isNullable = alternatives.some(({ type }) => type === 'null');
  const left = alternatives
    .filter(({ type, format }) => type !== 'null' && !(type === 'string' && format === 'integer'))
    .map(toOpenApiSchema)
    .filter(isSchema);
  const nullable = isNullable ? { nullable: true } : {};
  const [only] = left;
  if (left.length === 1) return { ...only, ...plain, ...nullable };
  const values = left.flatMap((schema) => (Array.isArray(schema.enum) ? schema.enum : []));
  if (values.length === left.length) return { ...plain, type: only?.type, enum: values, ...nullable };
  return { ...plain, ...nullable, anyOf: left };
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
