import Ajv, { type ValidateFunction } from 'ajv';
import addFormats from 'ajv-formats';
import type { TestService } from '../service/service.ts';

type Schema = { type?: string; [keyword: string]: unknown };
export type DocumentedParameter = {
  name: string;
  in: string;
  required: boolean;
  description: string;
  example: string | number;
  schema: Schema;
};
export type DocumentedResponse = {
  description: string;
  headers: Record<string, { description: string; example: string | number; schema: Schema }>;
  content?: Record<
    string,
    {
      schema: { $ref: string };
      examples?: Record<string, { value: { success: boolean; message: string } }>;
    }
  >;
};
export type DocumentedOperation = {
  operationId: string;
  description?: string;
  parameters: DocumentedParameter[];
  responses: Record<string, DocumentedResponse>;
  security?: object[];
};
type OpenApiDocument = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, { get: DocumentedOperation }>;
  components: { schemas: Record<string, Schema> };
};

/** The document as it is sent, and with every reference replaced but those to schemas. */
export async function readOpenApiDocument(service: TestService): Promise<{
  text: string;
  raw: OpenApiDocument;
  document: OpenApiDocument;
}> {
  const { text } = await service.ask('/swagger/json');
  const raw: OpenApiDocument = JSON.parse(text);
  return { text, raw, document: resolve(raw, raw) as OpenApiDocument };
}

/** Validates values against a document's schemas; the functions return what is wrong. */
export function createSchemaValidator(raw: OpenApiDocument) {
  // OpenAPI's own keywords (`example`) mean nothing to a validator.
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats(ajv);
  ajv.addSchema(raw, 'document');
  const problemsOf = (validate: ValidateFunction, value: unknown): string[] => {
    validate(value);
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`.trim());
  };
  return {
    /** @param reference as `#/components/schemas/Error`. */
    checkBody: (reference: string, body: unknown): string[] => {
      const validate = ajv.getSchema(`document${reference}`);
      if (!validate) throw new Error(`there is no ${reference}`);
      return problemsOf(validate, body);
    },
    check: (schema: Schema, value: unknown): string[] => problemsOf(ajv.compile(schema), value),
  };
}

function resolve(node: unknown, document: unknown): unknown {
  if (Array.isArray(node)) return node.map((item) => resolve(item, document));
  if (typeof node !== 'object' || node === null) return node;
  const reference = '$ref' in node && typeof node.$ref === 'string' ? node.$ref : undefined;
  if (reference && !reference.startsWith('#/components/schemas/')) {
    return resolve(lookUp(document, reference), document);
  }
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, resolve(value, document)]));
}

function lookUp(document: unknown, reference: string): unknown {
  let node: unknown = document;
  for (const step of reference.slice(2).split('/')) {
    node = typeof node === 'object' && node !== null ? Reflect.get(node, step) : undefined;
  }
  if (node === undefined) throw new Error(`there is no ${reference}`);
  return node;
}
