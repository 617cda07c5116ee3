import { t } from 'elysia';

/** Where the published document keeps each model. */
export const MODELS = {
  player: '#/components/schemas/Player',
  server: '#/components/schemas/Server',
  serverDetailData: '#/components/schemas/ServerDetail',
  serverList: '#/components/schemas/ServerListAnswer',
  serverDetail: '#/components/schemas/ServerDetailAnswer',
  serverPlayers: '#/components/schemas/ServerPlayersAnswer',
  serverHistory: '#/components/schemas/ServerHistoryAnswer',
  roundSound: '#/components/schemas/RoundSoundAnswer',
  penalties: '#/components/schemas/PenaltiesAnswer',
  bans: '#/components/schemas/BansAnswer',
  mutes: '#/components/schemas/MutesAnswer',
  userLookup: '#/components/schemas/UserLookupAnswer',
  error: '#/components/schemas/Error',
} as const;

export const TimestampModel = t.String({ format: 'date-time', examples: ['2026-11-21T10:00:00+00:00'] });
export const ErrorModel = t.Object(
  { success: t.Literal(false), message: t.String({ examples: ['Server not found'] }) },
  { description: 'Specification section 7', additionalProperties: false },
);

type Parameter = {
  in: 'path' | 'query';
  name: string;
  description: string;
  example?: string | number;
  schema?: ParameterSchema;
};

/** What a client should send; more is accepted (letter case, notations), as the descriptions say. */
type ParameterSchema = {
  type: 'string' | 'integer';
  enum?: string[];
  minimum?: number;
  maximum?: number;
  default?: number;
  pattern?: string;
};

type DocumentedHeader = { description: string; schema: { type: 'string' }; example: string };

type DocumentedAnswer = {
  /** Reference of the body's model. */
  model?: string;
  description?: string;
  example?: unknown;
  /** Carries an ETag and answers 304. */
  isCached?: boolean;
  headers?: Record<string, DocumentedHeader>;
};

type Operation = {
  tag: string;
  summary: string;
  description?: string;
  parameters?: Parameter[];
  answers: Record<number, DocumentedAnswer>;
  isProtected?: boolean;
};

const header = (description: string, example: string): DocumentedHeader => ({
  description,
  schema: { type: 'string' },
  example,
});

/** Headers of every answer of a public or a protected operation. */
function commonHeaders({ isProtected, cacheControl }: { isProtected: boolean; cacheControl: string }) {
  const policy = isProtected ? 'protected' : 'public';
  const limit = isProtected ? 60 : 30;
  return {
    'X-RateLimit-Limit': header('Requests allowed in any 60 seconds.', String(limit)),
    'X-RateLimit-Remaining': header('Requests left now.', String(limit - 1)),
    'RateLimit-Policy': header('The policy, as the IETF draft writes it.', `"${policy}";q=${limit};w=60`),
    RateLimit: header('Requests left, and seconds until one more is.', `"${policy}";r=${limit - 1};t=60`),
    'Cache-Control': header('How long the answer may be kept.', cacheControl),
    'Access-Control-Allow-Origin': header('Any origin may read the answer.', '*'),
    'Access-Control-Expose-Headers': header(
      'Headers that a page of another origin may read.',
      'ETag, RateLimit, RateLimit-Policy, Retry-After',
    ),
    ...(isProtected && { Vary: header('The answer is of the token shown.', 'Authorization') }),
  };
}

const CACHED_HEADERS = {
  ETag: header('Weak tag of these bytes, for If-None-Match.', 'W/"1x2y3z"'),
  Vary: header('The answer may be compressed.', 'Accept-Encoding'),
};
const RETRY_AFTER = { 'Retry-After': header('Seconds to wait.', '12') };

const error = (
  description: string,
  message: string,
  headers?: Record<string, DocumentedHeader>,
): DocumentedAnswer => ({
  model: MODELS.error,
  description,
  example: { success: false, message },
  ...(headers && { headers }),
});

const tooMany = error('The rate limit is exceeded.', 'Too many requests', {
  ...RETRY_AFTER,
  'X-RateLimit-Reset': header('Epoch second at which one more request is allowed.', '1795255200'),
});
const failed = error('A failure of ours.', 'Server error');

/** Answers that many operations share. */
export const ERRORS = {
  public: { 429: tooMany, 500: failed },
  badRequest: error(
    'A parameter is not allowed; the message says what is.',
    'server_id "abc" is not allowed: give a whole number',
  ),
  unauthorized: error(
    'No token was given, or it is unknown, revoked or expired.',
    'An API token is required',
    {
      'WWW-Authenticate': header('The scheme.', 'Bearer'),
    },
  ),
  serverNotFound: error('No such server.', 'Server not found'),
  userNotFound: error('No such user.', 'User not found'),
  unavailable: error(
    'The database is out of reach.',
    'The database is out of reach: try again shortly',
    RETRY_AFTER,
  ),
  tooMany,
  failed,
} as const;

/** An operation's `detail` for @elysiajs/swagger: parameters, every answer with its headers, examples. */
export function describe({
  tag,
  summary,
  description,
  parameters = [],
  answers,
  isProtected = false,
}: Operation) {
  const responses: Record<string, ReturnType<typeof toResponse>> = {};
  for (const [status, answer] of Object.entries(answers)) {
    const cacheControl = cacheControlOf({ isError: Number(status) >= 400, isProtected });
    responses[status] = toResponse(answer, commonHeaders({ isProtected, cacheControl }));
  }
  const isCached = answers[200]?.isCached === true;
  if (isCached) {
    responses['304'] = toResponse(
      { description: 'Nothing changed since the tag in If-None-Match.', isCached: true },
      commonHeaders({ isProtected, cacheControl: cacheControlOf({ isError: false, isProtected }) }),
    );
  }
  const conditional = {
    name: 'If-None-Match',
    in: 'header' as const,
    required: false,
    description: 'Tags of answers the client has; 304 when one still holds.',
    schema: { type: 'string' as const },
  };
  return {
    tags: [tag],
    summary,
    ...(description && { description }),
    parameters: [...parameters.map(toParameter), ...(isCached ? [conditional] : [])],
    responses,
    ...(isProtected && { security: [{ bearer: [] }, { query: [] }] }),
  };
}

function toParameter({ in: place, name, description, example, schema = { type: 'string' } }: Parameter) {
  return {
    name,
    in: place,
    required: place === 'path',
    description,
    schema,
    ...(example !== undefined && { example }),
  };
}

function cacheControlOf({ isError, isProtected }: { isError: boolean; isProtected: boolean }): string {
  if (isError) return isProtected ? 'private, no-store' : 'no-store';
  return isProtected ? 'private, no-cache' : 'public, max-age=2, stale-while-revalidate=1';
}

function toResponse(
  { model, description = 'The answer.', example, isCached = false, headers = {} }: DocumentedAnswer,
  common: Record<string, DocumentedHeader>,
) {
  return {
    description,
    headers: { ...common, ...(isCached && CACHED_HEADERS), ...headers },
    ...(model && {
      content: { 'application/json': { schema: { $ref: model }, ...(example !== undefined && { example }) } },
    }),
  };
}
