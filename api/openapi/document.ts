import { type AnyElysia, Elysia } from 'elysia';
import { type EncodedBody, encodeBody, respondEncoded } from '../http/encoding.ts';
import { JSON_TYPE } from '../http/responses.ts';
import { buildComponents, type Components } from './components.ts';
import type { RateLimits } from './headers.ts';
import { type Operation, TAGS } from './operation.ts';
import { openApiPage } from './page.tsx';

type Deps = {
  publicUrl: string;
  version: string;
  limits: RateLimits;
  operations: readonly Operation[];
  /** Creates an app with the routes that the document describes. It is not shared, since `use` would change it. */
  createDescribed: () => AnyElysia;
};

const DOCUMENT_PATH = '/swagger/json';
const HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=300' };

/** The document at `/swagger/json`, and a page at `/swagger`. */
export function openApi(deps: Deps) {
  // Built at the start, so that a mistake in the components stops the process.
  const components = buildComponents(deps.operations, deps.limits);
  let encoded: EncodedBody | undefined;
  return new Elysia()
    .get(
      DOCUMENT_PATH,
      async ({ request }) => {
        encoded ??= encodeBody(await buildDocument(deps, components));
        return respondEncoded(request, encoded, HEADERS);
      },
      { detail: { hide: true } },
    )
    .use(openApiPage(deps));
}

/** The document as JSON. Loads the plugin on demand: it takes two megabytes, and few processes serve the document. */
async function buildDocument(
  { publicUrl, version, createDescribed }: Deps,
  components: Components,
): Promise<string> {
  const { swagger } = await import('@elysiajs/swagger');
  const app = new Elysia().use(
    swagger({
      path: '/swagger',
      specPath: DOCUMENT_PATH,
      documentation: {
        info: {
          title: 'Community API',
          version,
          license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
          contact: { name: 'The operators of this site', url: publicUrl },
          description:
            'Live CS2 server status, penalties, user lookup and round-end sounds. ' +
            'Every path works under `/index.php/api/v1` too, and HEAD wherever GET does.',
        },
        servers: [
          { url: publicUrl },
          { url: `${publicUrl}/index.php`, description: 'The second form of the base address.' },
        ],
        tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
        components: {
          // Converted to JSON and back, which drops TypeBox's symbols: the plugin's types accept plain schemas only.
          ...JSON.parse(JSON.stringify(components)),
          securitySchemes: {
            bearer: { type: 'http', scheme: 'bearer', description: 'A token made on the account page.' },
            query: { type: 'apiKey', in: 'query', name: 'api_token' },
          },
        },
      },
    }),
  );
  const response = await app.use(createDescribed()).handle(new Request(`http://localhost${DOCUMENT_PATH}`));
  if (!response.ok) throw new Error(`the plugin responded with ${response.status}`);
  return response.text();
}
