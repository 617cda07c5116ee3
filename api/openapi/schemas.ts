import type { TSchema } from 'elysia';

/** A reference to a component of the document. @param model has an `$id`. */
export function referToSchema({ $id }: TSchema): { $ref: string } {
  return { $ref: `#/components/schemas/${$id}` };
}

/**
 * The schemas of models and of every model inside them that has an `$id`, by that name; where they are used, a reference
 * stands. TypeBox models are JSON Schema, and so is OpenAPI 3.1.
 * @throws when two models have one name.
 */
export function collectSchemas(models: readonly TSchema[]): Record<string, object> {
  const schemas: Record<string, object> = {};
  const modelByName = new Map<string, TSchema>();
  const collect = (model: TSchema): { $ref: string } => {
    const { $id: name = '', ...root } = model;
    const namesake = modelByName.get(name);
    if (namesake && namesake !== model) throw new Error(`two models are called ${name}`);
    if (!namesake) {
      modelByName.set(name, model);
      schemas[name] = JSON.parse(JSON.stringify(root, replace));
    }
    return referToSchema(model);
  };
  const replace = (_key: string, value: unknown) => {
    if (!isSchema(value)) return value;
    if (value.$id) return collect(value);
    // Elysia's `t.Integer` accepts the number as a string as well, its first alternative; responses hold numbers.
    const [string, integer] = Array.isArray(value.anyOf) ? value.anyOf : [];
    return string?.format === 'integer' ? integer : value;
  };
  for (const model of models) collect(model);
  return schemas;
}

function isSchema(value: unknown): value is TSchema {
  return typeof value === 'object' && value !== null;
}
