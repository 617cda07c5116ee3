import { expect } from 'bun:test';
import { BASES } from '../../../api/app.ts';
import {
  aServerState,
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertServer,
  insertUser,
  saveServerPoll,
} from '../database/builders.ts';
import { createTestDatabase } from '../database/database.ts';
import { startSteamApi } from '../providers/steam-api.ts';
import {
  aToken,
  bearer,
  NOW,
  startTestService,
  type TestService,
  type WireResponse,
} from '../service/service.ts';
import {
  createSchemaValidator,
  type DocumentedOperation,
  type DocumentedResponse,
  readOpenApiDocument,
} from './openapi-document.ts';

/** An operation of the document, with its address below a base. */
export type Operation = DocumentedOperation & { path: string; isProtected: boolean };

/** Sent by every HTTP server; no client learns of them from an API's document. */
const TRANSPORT_HEADERS = ['content-type', 'content-length', 'transfer-encoding', 'date', 'connection'];

type Case = { status: number; address: string; init?: RequestInit; at?: TestService };

/** A service that holds what the document's examples name, on a database of the test file's own. */
export async function serveDocumentedApi() {
  const database = await createTestDatabase();
  const { db } = database;
  const steam = startSteamApi();
  const service = await startTestService({
    databaseUrl: database.url,
    env: { STEAM_API_URL: steam.url, STEAM_API_KEY: steam.key },
  });
  const { token } = await aToken(db, 900);
  // The document's examples: server 3, only-mirage-1; player 76561198000000001; Discord id 80351110224678912.
  const silent = await insertServer(db, { slug: 'silent' });
  await insertServer(db, { slug: 'second' });
  const server = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
  await saveServerPoll(db, server.id, {
    state: aServerState({
      hostname: 'Only Mirage | 128 tick',
      map: 'de_mirage',
      playersCount: 2,
      maxPlayers: 10,
      pingMs: 12,
      players: [
        { name: 'Ala', score: 3 },
        { name: 'Rzeźnik', score: -1 },
      ],
    }),
    polledAt: new Date(NOW.getTime() - 5000),
  });
  await insertUser(db, 1, { nickname: 'Rzeźnik', discordId: '80351110224678912' });
  await insertReadySound(db, aSteamId(1), 'track.mp3', {
    voiceSha256: 'b2'.repeat(32),
    voiceSizeBytes: 50_617,
  });
  await insertPenalties(db, [
    { type: 'ban', playerSteamId: aSteamId(1) },
    { type: 'ban', durationMinutes: 60, endsAt: new Date('2026-11-01T13:00:00Z') },
    { type: 'mute', status: 'UNBANNED', adminSteamId: aSteamId(900) },
    { type: 'gag' },
    { type: 'silence', serverId: 0 },
    { type: 'warn', reason: '<b>"quoted"</b> 🎧 \u202Ertl' },
  ]);
  const { raw, document } = await readOpenApiDocument(service);
  const { check, checkBody } = createSchemaValidator(raw);
  const operations: Operation[] = Object.entries(document.paths).map(([path, { get }]) => ({
    path: path.slice('/api/v1'.length),
    isProtected: get.security !== undefined && get.security.length > 0,
    ...get,
  }));
  /** A cursor holds for one database: the document's example of it is of none. */
  const CURSOR = await service
    .ask('/api/v1/penalties/changes', bearer(token))
    .then(({ body }) => (body as { meta: { cursor: string } }).meta.cursor);

  /** All parameters that can be combined: of two alternative lists, one. */
  function queryExamplesOf(operation: Operation): Record<string, string | number> {
    const together = queryParametersOf(operation).filter(({ name }) => name !== 'discord_ids');
    return Object.fromEntries(
      together.map(({ name, example }) => [name, name === 'cursor' ? CURSOR : example]),
    );
  }

  /** Asks under both bases and compares status, body, header names and header values with the document. */
  async function expectDocumented(
    operation: Operation,
    { status, address, init = bearer(token), at = service }: Case,
  ): Promise<WireResponse> {
    const documented = responseOf(operation, status);
    // A stream has no end; its head is that of every GET.
    const method = documented.content?.['text/event-stream'] ? 'HEAD' : 'GET';
    let last: WireResponse | undefined;
    for (const base of BASES) {
      last = await at.ask(`${base}${address}`, { ...init, method });
      expect([address, last.status]).toEqual([address, status]);
      const differences = findDifferences(documented, { ...last, method });
      expect({ address, differences }).toEqual({ address, differences: [] });
    }
    if (!last) throw new Error('there are two bases');
    return last;
  }

  /** How a response differs from what the document says of its status. */
  function findDifferences(
    documented: DocumentedResponse,
    { method, headers, text }: Pick<WireResponse, 'headers' | 'text'> & { method: string },
  ): string[] {
    const [type = '', content] = Object.entries(documented.content ?? {})[0] ?? [];
    const found: string[] = [];
    if (!(headers.get('content-type') ?? '').startsWith(type)) found.push(`of another type than ${type}`);
    if (content && method !== 'HEAD') {
      const bodies = type === 'application/x-ndjson' ? text.trimEnd().split('\n') : [text];
      found.push(...bodies.flatMap((body) => checkBody(content.schema.$ref, JSON.parse(body))));
    } else if (text !== '') found.push('a body where there is none');
    const sent = [...headers.keys()].filter((name) => !TRANSPORT_HEADERS.includes(name)).sort();
    // Compression is up to the client; all other headers are always sent.
    const expected = Object.entries(documented.headers).filter(
      ([name]) => name !== 'Content-Encoding' || headers.has(name),
    );
    const names = expected.map(([name]) => name.toLowerCase()).sort();
    if (String(sent) !== String(names)) found.push(`headers ${sent}, documented are ${names}`);
    for (const [name, { schema }] of expected) {
      const value = headers.get(name) ?? '';
      const problems = check(schema, schema.type === 'integer' ? Number(value) : value);
      found.push(...problems.map((problem) => `${name}: ${value} ${problem}`));
    }
    return found;
  }

  return {
    database,
    service,
    token,
    silent,
    operations,
    checkBody,
    expectDocumented,
    findDifferences,
    cursor: CURSOR,
    queryExamplesOf,
  };
}

export function queryParametersOf({ parameters }: Operation) {
  return parameters.filter((parameter) => parameter.in === 'query');
}

/** One response of an operation.
 * @throws when the document has none of this status.
 */
export function responseOf({ path, responses }: Operation, status: number): DocumentedResponse {
  const response = responses[String(status)];
  if (!response) throw new Error(`${path} documents no ${status}`);
  return response;
}
