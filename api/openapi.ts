import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { swagger } from '@elysiajs/swagger';
import { Elysia, t } from 'elysia';
import { ErrorModel, TimestampModel } from './docs.ts';
import { toOpenApiSchema } from './openapi-dialect.ts';
import {
  BanModel,
  CountedPaginationModel,
  MuteModel,
  PaginationModel,
  PenaltyModel,
} from './v1/penalties.ts';
import { RoundSoundModel } from './v1/round-sounds.ts';
import { HistoryPointModel, PlayerModel, ServerDetailModel, ServerModel } from './v1/servers.ts';
import { UserModel } from './v1/users.ts';

const STRICT = { additionalProperties: false };
const success = t.Literal(true);
const ref = (name: string) => t.Ref(`#/components/schemas/${name}`);

/** Every body the API sends, by the name it has in the document. */
const schemas = {
  Player: PlayerModel,
  Server: ServerModel,
  ServerDetail: ServerDetailModel,
  ServerListAnswer: t.Object(
    {
      success,
      data: t.Array(ref('Server')),
      meta: t.Object(
        {
          total: t.Integer({ minimum: 0, examples: [6] }),
          online: t.Integer({ minimum: 0, examples: [5] }),
          cached_at: TimestampModel,
        },
        STRICT,
      ),
    },
    STRICT,
  ),
  ServerDetailAnswer: t.Object(
    { success, data: ref('ServerDetail'), meta: t.Object({ cached_at: TimestampModel }, STRICT) },
    STRICT,
  ),
  ServerPlayersAnswer: t.Object({ success, players: t.Array(ref('Player')) }, STRICT),
  HistoryPoint: HistoryPointModel,
  ServerHistoryAnswer: t.Object(
    {
      success,
      data: t.Array(ref('HistoryPoint')),
      meta: t.Object(
        {
          hours: t.Integer({ examples: [24] }),
          step_seconds: t.Integer({ examples: [300] }),
          cached_at: TimestampModel,
        },
        STRICT,
      ),
    },
    STRICT,
  ),
  RoundSoundAnswer: RoundSoundModel,
  Ban: BanModel,
  Mute: MuteModel,
  Penalty: PenaltyModel,
  PenaltiesAnswer: t.Object({ success, data: t.Array(ref('Penalty')), meta: CountedPaginationModel }, STRICT),
  BansAnswer: t.Object({ success, data: t.Array(ref('Ban')), meta: PaginationModel }, STRICT),
  MutesAnswer: t.Object({ success, data: t.Array(ref('Mute')), meta: PaginationModel }, STRICT),
  User: UserModel,
  UserLookupAnswer: t.Object({ success, user: ref('User') }, STRICT),
  Error: ErrorModel,
};

function publishedSchemas() {
  return Object.fromEntries(Object.entries(schemas).map(([name, model]) => [name, toOpenApiSchema(model)]));
}

/** The document at `/swagger/json`, and a page at `/swagger` whose script and style come from a package of ours. */
export function openApi({ publicUrl, version }: { publicUrl: string; version: string }) {
  return (
    new Elysia()
      .use(
        swagger({
          path: '/swagger',
          specPath: '/swagger/json',
          exclude: [/^\/(?!api\/v1)/],
          documentation: {
            info: {
              title: 'Community API',
              version,
              description:
                'Live CS2 server status, penalties, user lookup and round-end sounds. ' +
                'Every path also answers under `/index.php/api/v1`. HEAD works wherever GET does.',
            },
            servers: [
              { url: publicUrl },
              { url: `${publicUrl}/index.php`, description: 'The second form of the base address.' },
            ],
            tags: [{ name: 'Servers' }, { name: 'Players' }, { name: 'Penalties' }, { name: 'Users' }],
            components: {
              // Through text: the plugin's types know finished schemas only, and TypeBox's own symbols stay out.
              schemas: JSON.parse(JSON.stringify(publishedSchemas())),
              securitySchemes: {
                bearer: { type: 'http', scheme: 'bearer', description: 'A token made on the account page.' },
                query: { type: 'apiKey', in: 'query', name: 'api_token' },
              },
            },
          },
        }),
      )
      // Takes the place of the plugin's own page, which loads its script from another host.
      .get('/swagger', () => html(PAGE), { detail: { hide: true } })
      .get('/swagger/assets/:file', ({ params }) => asset(params.file), { detail: { hide: true } })
  );
}

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Community API</title>
<link rel="stylesheet" href="/swagger/assets/swagger-ui.css">
<link rel="icon" href="/swagger/assets/favicon-32x32.png">
</head>
<body>
<div id="swagger-ui"></div>
<script src="/swagger/assets/swagger-ui-bundle.js"></script>
<script src="/swagger/assets/start.js"></script>
</body>
</html>
`;

const START_SCRIPT = `SwaggerUIBundle({ url: '/swagger/json', dom_id: '#swagger-ui', deepLinking: true, validatorUrl: null });\n`;

const ASSET_TYPES: Record<string, string> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
};

function html(page: string): Response {
  return new Response(page, {
    headers: {
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'public, max-age=300',
      'Content-Security-Policy': "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
      'X-Content-Type-Options': 'nosniff',
    },
  });
}

function asset(name: string): Response {
  if (name === 'start.js') return sendAsset(START_SCRIPT, 'text/javascript; charset=utf-8');
  const type = Object.hasOwn(ASSET_TYPES, name) ? ASSET_TYPES[name] : undefined;
  if (!type) return Response.json({ success: false, message: 'Not found' }, { status: 404 });
  return sendAsset(readFileSync(fileURLToPath(import.meta.resolve(`swagger-ui-dist/${name}`))), type);
}

function sendAsset(content: string | Uint8Array<ArrayBuffer>, type: string): Response {
  return new Response(content, {
    headers: { 'Content-Type': type, 'Cache-Control': 'public, max-age=3600' },
  });
}
