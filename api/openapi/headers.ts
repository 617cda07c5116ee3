import type { DocumentedHeader } from '../http/route.ts';

type HeaderText = Omit<DocumentedHeader, 'example'>;

/** Headers that are not listed here have the same value in every response; the value is their schema. */
const VARYING: Record<string, HeaderText> = {
  'X-RateLimit-Limit': {
    description: 'Requests allowed in any 60 seconds.',
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Remaining': {
    description: 'Requests left at this moment.',
    schema: { type: 'integer', minimum: 0 },
  },
  'RateLimit-Policy': {
    description: 'The policy, in the form of the IETF draft: its name, requests and seconds.',
    schema: { type: 'string', pattern: '^"[a-z]+";q=[0-9]+;w=60$' },
  },
  RateLimit: {
    description: 'Requests left, and the seconds until one more is allowed.',
    schema: { type: 'string', pattern: '^"[a-z]+";r=[0-9]+;t=[0-9]+$' },
  },
  'X-RateLimit-Reset': {
    description: 'The Unix time, in seconds, from which one more request is allowed.',
    schema: { type: 'integer', minimum: 0 },
  },
  'Retry-After': { description: 'Seconds to wait.', schema: { type: 'integer', minimum: 1 } },
  'WWW-Authenticate': {
    description: 'The scheme, with an error code when the token given is not valid.',
    schema: { type: 'string', pattern: '^Bearer( error="[a-z_]+")?$' },
  },
  'X-Request-Id': {
    description:
      'Names the request in the log of the service: your own X-Request-Id if it is 1 to 64 of A-Z, a-z, 0-9, ".", "_" and "-". A shared cache may repeat it.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  ETag: {
    description: 'Weak tag of everything in the body but cached_at, for If-None-Match.',
    schema: { type: 'string', pattern: '^W/"[0-9a-z]+"$' },
  },
};
const FIXED: Record<string, string> = {
  'Cache-Control': 'How long the response may be kept, and by whom.',
  Vary: 'Request headers that the response depends on.',
  'Content-Encoding': 'Absent unless the request has an Accept-Encoding that allows gzip.',
  'Access-Control-Allow-Origin': 'Pages of any origin may read the response.',
  'Access-Control-Expose-Headers': 'Headers that pages of other origins may read.',
};

/** Headers as the document describes them. @param headers names and values as they are sent. */
export function describeHeaders(headers: Record<string, string>): Record<string, DocumentedHeader> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, describeHeader(name, value)]),
  );
}

/** @throws when a header has no description: it would be sent but not documented. */
function describeHeader(name: string, value: string): DocumentedHeader {
  const varying = VARYING[name];
  if (varying) return { ...varying, example: varying.schema.type === 'integer' ? Number(value) : value };
  const description = FIXED[name];
  if (!description) throw new Error(`the header ${name} has no description`);
  return { description, schema: { type: 'string', enum: [value] }, example: value };
}
