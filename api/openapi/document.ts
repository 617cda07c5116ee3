import { Elysia } from 'elysia';
import { type EncodedBody, encodeBody, respondEncoded } from '../http/encoding.ts';
import type { RateLimits } from '../http/responses.ts';
import { CORS_HEADERS, JSON_TYPE } from '../http/responses.ts';
import { type Operation, TAGS } from '../http/route-definition.ts';
import { describeOperation, ErrorModel } from './operation.ts';
import { collectSchemas } from './schemas.ts';

type Deps = {
  /** Undefined while the service does not know its address: the document is then relative to its own. */
  publicUrl: string | undefined;
  version: string;
  limits: RateLimits;
  operations: readonly Operation[];
  /** The base under which the document lists the paths. */
  base: string;
};

const DOCUMENT_PATH = '/swagger/json';
const HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=300', ...CORS_HEADERS };

/** The document at `/swagger/json`. */
export function openApi(deps: Deps) {
  // Built at the start, so that a mistake in it stops the process.
  const contents = { paths: buildPaths(deps), schemas: buildSchemas(deps.operations) };
  let encoded: EncodedBody | undefined;
  return new Elysia().get(DOCUMENT_PATH, async ({ request }) => {
    encoded ??= encodeBody(await buildDocument(deps, contents));
    return respondEncoded(request, encoded, HEADERS);
  });
}

function buildPaths({ operations, base, limits }: Deps) {
  return Object.fromEntries(
    operations.map((operation) => [
      base + operation.path.replace(/:([^/]+)/g, '{$1}'),
      { get: describeOperation(operation, limits) },
    ]),
  );
}

/** The schemas that the operations refer to. @throws when two models have one name. */
export function buildSchemas(operations: readonly Operation[]): Record<string, object> {
  return collectSchemas([...operations.map(({ success }) => success.model), ErrorModel]);
}

/**
 * The document as JSON. The plugin is loaded on demand, since it takes two megabytes and few processes serve the document;
 * it is given the paths, since it is not part of the app whose routes it could read.
 */
async function buildDocument(
  { publicUrl, version }: Deps,
  contents: { paths: object; schemas: object },
): Promise<string> {
  const { swagger } = await import('@elysiajs/swagger');
  const plugin = swagger({
    documentation: {
      openapi: '3.1.0',
      info: {
        title: 'Community API',
        version,
        license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
        ...(publicUrl && { contact: { name: 'The operators of this site', url: publicUrl } }),
        description:
          'Live CS2 server status, penalties, user lookup and round-end sounds. ' +
          'Every path works under `/index.php/api/v1` too, and HEAD wherever GET does.',
      },
      servers: [
        { url: publicUrl ?? '/' },
        { url: `${publicUrl ?? ''}/index.php`, description: 'The second form of the base address.' },
      ],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      // Converted to JSON and back, which drops TypeBox's symbols: the plugin's types accept plain schemas only.
      ...JSON.parse(
        JSON.stringify({
          paths: contents.paths,
          components: {
            schemas: contents.schemas,
            securitySchemes: {
              bearer: { type: 'http', scheme: 'bearer', description: 'A token made on the account page.' },
              query: { type: 'apiKey', in: 'query', name: 'api_token' },
            },
          },
        }),
      ),
    },
  });
  const response = await plugin.handle(new Request(`http://localhost${DOCUMENT_PATH}`));
  if (!response.ok) throw new Error(`the plugin responded with ${response.status}`);
  return response.text();
}
