import { expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { createTestDatabase } from '../../support/database/database.ts';
import { createSchemaValidator, readOpenApiDocument } from '../../support/http/openapi-document.ts';
import { startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const service = await startTestService({
  databaseUrl: database.url,
  env: { RATE_LIMIT_PUBLIC: '31', RATE_LIMIT_PROTECTED: '62' },
});
const { text, raw, document } = await readOpenApiDocument(service);
const { check, checkBody } = createSchemaValidator(raw);
const operations = Object.entries(document.paths).map(([path, { get }]) => ({
  path: path.slice('/api/v1'.length),
  ...get,
}));
const PENALTY_PATHS = ['/penalties', '/bans', '/mutes', '/warns'];
const PROTECTED_PATHS = [
  ...PENALTY_PATHS,
  '/penalties/active',
  '/players/{player}/steam-bans',
  '/penalties/export',
  '/penalties/servers',
  '/penalties/{id}',
  '/users/lookup',
  '/users/lookup/batch',
  '/players/search',
  '/token',
  '/penalties/changes',
  '/events',
];

test('the document is valid OpenAPI 3.1', async () => {
  expect(document.openapi).toBe('3.1.0');
  const { valid, errors } = await new Validator().validate(structuredClone(raw));
  expect([valid, errors]).toEqual([true, undefined]);
});

test("breaks none of Redocly's recommended rules", async () => {
  const config = await createConfig({ extends: ['recommended'] });
  const problems = await lintFromString({ source: text, config });
  expect(problems.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer])).toEqual(
    [],
  );
});

test('the document’s schemas have no identifiers, and its integers are numbers', () => {
  const schemas = JSON.stringify(raw.components.schemas);
  for (const keyword of ['"$id":', '"format":"integer"', '"nullable":'])
    expect(schemas).not.toContain(keyword);
});

test('names every operation by a verb and a noun', () => {
  expect(Object.fromEntries(operations.map(({ path, operationId }) => [path, operationId]))).toEqual({
    '/servers': 'listServers',
    '/servers/{server}': 'getServer',
    '/servers/{server}/players': 'listServerPlayers',
    '/servers/{server}/history': 'getServerHistory',
    '/players/{player}/roundsound': 'getRoundSound',
    '/players/roundsounds': 'listRoundSounds',
    '/players/{player}/steam-bans': 'getSteamBans',
    '/penalties': 'listPenalties',
    '/penalties/changes': 'listPenaltyChanges',
    '/bans': 'listBans',
    '/events': 'streamEvents',
    '/mutes': 'listMutes',
    '/warns': 'listWarnings',
    '/penalties/active': 'listActivePenalties',
    '/penalties/export': 'exportPenalties',
    '/penalties/servers': 'listPenaltyServers',
    '/penalties/{id}': 'getPenalty',
    '/players/search': 'searchPlayers',
    '/token': 'getToken',
    '/users/lookup': 'lookupUser',
    '/users/lookup/batch': 'lookupUsers',
  });
});

test('the document has both bases as servers', () => {
  expect(document.servers.map(({ url }) => url)).toEqual([
    'https://play.example.org',
    'https://play.example.org/index.php',
  ]);
});

test('the document names relative addresses without PUBLIC_URL', async () => {
  const unnamed = await startTestService({ databaseUrl: database.url, env: { PUBLIC_URL: '' } });
  const { text: relative } = await unnamed.ask('/swagger/json');
  expect(JSON.parse(relative).servers.map(({ url }: { url: string }) => url)).toEqual(['/', '/index.php']);
  expect(relative).not.toContain('localhost');
  await unnamed.stop();
});

test('refers to no document that its reader does not have', () => {
  for (const [, prose] of text.matchAll(/"(?:description|summary)":"((?:[^"\\]|\\.)*)"/g)) {
    expect(prose).not.toMatch(/contract|section|specification (?!of version 1)|§|\b\d\.\d\b|README|\.md\b/i);
  }
});

test('marks the extensions of the specification', () => {
  const specified = operations.filter((operation) => !('x-extension' in operation));
  expect(specified.map(({ path }) => path).join(' ')).toBe(
    '/servers /servers/{server} /servers/{server}/players /players/{player}/roundsound /penalties /bans /mutes /warns /users/lookup',
  );
  for (const { path, description } of operations.filter((operation) => !specified.includes(operation)))
    expect([path, description]).toEqual([path, expect.stringMatching(/^Extension:/)]);
});

test('names the parameters of each operation', () => {
  const namesOf = (path: string) =>
    operations
      .find((operation) => operation.path === path)
      ?.parameters.filter((parameter) => parameter.in === 'query')
      .map(({ name }) => name);
  const common = ['status', 'server_id', 'steamid'];
  const own = ['created_from', 'created_to', 'reason'];
  const pages = ['sort', 'per_page', 'page'];
  expect(namesOf('/penalties')).toEqual(['type', ...common, 'admin_steamid', ...own, ...pages]);
  expect(namesOf('/penalties/export')).toEqual(['type', ...common, 'admin_steamid', ...own]);
  expect(namesOf('/bans')).toEqual([...common, ...own, ...pages]);
  expect(namesOf('/mutes')).toEqual(['type', ...common, ...own, ...pages]);
  expect(namesOf('/warns')).toEqual([...common, ...own, ...pages]);
  expect(namesOf('/penalties/active')).toEqual(['steamids']);
  expect(namesOf('/players/roundsounds')).toEqual(['steamids']);
  expect(namesOf('/users/lookup')).toEqual(['discord_id', 'steamid64']);
  expect(namesOf('/users/lookup/batch')).toEqual(['steamids', 'discord_ids']);
  expect(namesOf('/servers/{server}/history')).toEqual(['hours']);
});

test('describes every parameter and header, with an example that its schema allows', () => {
  for (const { path, parameters, responses } of operations) {
    const headers = Object.values(responses).flatMap((response) => Object.entries(response.headers));
    for (const [name, { description, example, schema }] of [
      ...headers,
      ...parameters.map((parameter) => [parameter.name, parameter] as const),
    ]) {
      expect([path, name, typeof description, description]).toEqual([
        path,
        name,
        'string',
        expect.anything(),
      ]);
      expect([path, name, typeof example]).toEqual([
        path,
        name,
        schema.type === 'integer' ? 'number' : 'string',
      ]);
      expect([path, name, check(schema, example)]).toEqual([path, name, []]);
    }
  }
});

test('shows the limits that this process has', () => {
  for (const { path, responses } of operations) {
    const [policy, limit] = PROTECTED_PATHS.includes(path) ? ['protected', 62] : ['public', 31];
    for (const { headers } of Object.values(responses)) {
      expect(headers['X-RateLimit-Limit']?.example).toBe(limit);
      expect(headers['RateLimit-Policy']?.example).toBe(`"${policy}";q=${limit};w=60`);
    }
  }
});

test('gives an example of every value of a body, and examples of bodies that their schemas allow', () => {
  for (const name of Object.keys(raw.components.schemas)) {
    const reference = `#/components/schemas/${name}`;
    expect([name, checkBody(reference, exampleOf({ $ref: reference }, name))]).toEqual([name, []]);
  }
  for (const { responses } of operations) {
    for (const { content = {} } of Object.values(responses)) {
      for (const { schema, examples = {} } of Object.values(content)) {
        for (const { value } of Object.values(examples)) expect(checkBody(schema.$ref, value)).toEqual([]);
      }
    }
  }
});

test('says which operations need a token, either way', () => {
  for (const { path, security } of operations) {
    const isProtected = PROTECTED_PATHS.includes(path);
    expect([path, security]).toEqual([
      path,
      isProtected ? [{ bearer: [] }, { query: [] }, ...(path === '/events' ? [{}] : [])] : [],
    ]);
  }
});

/** Assembles the example that a reader of the document sees; throws if a value has none. */
function exampleOf(schema: Record<string, unknown>, path: string): unknown {
  const { $ref, properties, items, anyOf, examples, const: constant } = schema;
  if (typeof $ref === 'string') {
    const name = $ref.slice('#/components/schemas/'.length);
    return exampleOf(raw.components.schemas[name] ?? {}, name);
  }
  if (isRecord(properties)) {
    return Object.fromEntries(
      Object.entries(properties).map(([name, inner]) => [
        name,
        isRecord(inner) && exampleOf(inner, `${path}.${name}`),
      ]),
    );
  }
  if (isRecord(items)) return [exampleOf(items, `${path}[]`)];
  if (Array.isArray(anyOf)) return exampleOf(anyOf[0], path);
  const value = Array.isArray(examples) ? examples[0] : constant;
  if (value === undefined) throw new Error(`${path} has no example`);
  return value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
