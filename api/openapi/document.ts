import { swagger } from '@elysiajs/swagger';
import { Elysia } from 'elysia';
import { type EncodedBody, encodeBody, respondEncoded } from '../http/encoding.ts';
import { JSON_TYPE } from '../http/responses.ts';
import { buildComponents } from './components.ts';
import type { RateLimits } from './headers.ts';
import { type Operation, TAGS } from './operation.ts';
import { openApiPage } from './page.tsx';

type Deps = { publicUrl: string; version: string; limits: RateLimits; operations: readonly Operation[] };

const DOCUMENT_PATH = '/swagger/json';
const HEADERS = { 'Content-Type': JSON_TYPE, 'Cache-Control': 'public, max-age=300' };

/** The document at `/swagger/json`, and a page at `/swagger`. */
export function openApi({ publicUrl, version, limits, operations }: Deps) {
  let encoded: EncodedBody | undefined;
  return (
    new Elysia()
      // The plugin would send the document uncompressed, though it does not change while the process runs.
      .onAfterHandle(({ path, request, response }) => {
        if (path !== DOCUMENT_PATH) return undefined;
        encoded ??= encodeBody(JSON.stringify(response));
        return respondEncoded(request, encoded, HEADERS);
      })
      .use(
        swagger({
          path: '/swagger',
          specPath: DOCUMENT_PATH,
          exclude: [/^\/(?!api\/v1)/],
          documentation: {
            info: {
              title: 'Community API',
              version,
              description:
                'Live CS2 server status, penalties, user lookup and round-end sounds. ' +
                'Every path works under `/index.php/api/v1` too, and HEAD wherever GET does.',
            },
            servers: [
              { url: publicUrl },
              { url: `${publicUrl}/index.php`, description: 'The second form of the base address.' },
            ],
            tags: TAGS.map((name) => ({ name })),
            components: {
              // Through JSON: that drops TypeBox's symbols, and the plugin's types accept plain schemas only.
              ...JSON.parse(JSON.stringify(buildComponents(operations, limits))),
              securitySchemes: {
                bearer: { type: 'http', scheme: 'bearer', description: 'A token made on the account page.' },
                query: { type: 'apiKey', in: 'query', name: 'api_token' },
              },
            },
          },
        }),
      )
      // In place of the plugin's page, which loads its script from another host.
      .use(openApiPage({ publicUrl, version, limits }))
  );
}
