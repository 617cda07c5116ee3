import { expect, test } from 'bun:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';
import { t } from 'elysia';
import { buildSchemas } from '../../../api/openapi/document.ts';
import { describeOperation } from '../../../api/openapi/operation.ts';
import { listBans } from '../../../api/v1/penalties/penalties.ts';
import { LIST_PARAMETERS } from '../../../api/v1/penalties/penalty-parameters.ts';
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
/** Their ids, by path. */
const PUBLIC_OPERATIONS = {
  '/servers': 'listServers',
  '/servers/{server}': 'getServer',
  '/servers/{server}/players': 'listServerPlayers',
  '/servers/{server}/history': 'getServerHistory',
  '/players/{player}/roundsound': 'getRoundSound',
  '/players/roundsounds': 'listRoundSounds',
};
const PROTECTED_OPERATIONS = {
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
};

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
    ...PUBLIC_OPERATIONS,
    ...PROTECTED_OPERATIONS,
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
  const { text: relative, headers } = await unnamed.ask('/swagger/json');
  expect(headers.get('access-control-allow-origin')).toBe('*');
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

test('describes every parameter and header, with an example that its schema allows', () => {
  for (const { path, parameters, responses } of operations) {
    const headers = Object.values(responses).flatMap((response) => Object.entries(response.headers));
    for (const [name, { description, example, schema }] of [
      ...headers,
      ...parameters.map((parameter) => [parameter.name, parameter] as const),
    ]) {
      const types = ['string', schema.type === 'integer' ? 'number' : 'string'];
      expect([path, name, typeof description, typeof example]).toEqual([path, name, ...types]);
      expect([path, name, check(schema, example)]).toEqual([path, name, []]);
    }
  }
});

test('shows the limits that this process has', () => {
  for (const { path, responses } of operations) {
    const [policy, limit] = path in PROTECTED_OPERATIONS ? ['protected', 62] : ['public', 31];
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
    const isProtected = path in PROTECTED_OPERATIONS;
    expect([path, security]).toEqual([
      path,
      isProtected ? [{ bearer: [] }, { query: [] }, ...(path === '/events' ? [{}] : [])] : [],
    ]);
  }
});

test('an extension says so, names its scope, and documents the 403 without it', () => {
  const operation = operations.find(({ operationId }) => operationId === 'exportPenalties');
  expect(operation).toMatchObject({
    description: expect.stringMatching(
      /^Extension: not part of the specification of version 1\. .* Needs a token with the scope `penalties`\.$/,
    ),
    'x-extension': true,
    'x-scope': 'penalties',
  });
  expect(operation?.responses[403]?.content?.['application/json']).toEqual({
    schema: { $ref: '#/components/schemas/Error' },
    examples: {
      'ScopeMissing.penalties': {
        value: { success: false, message: 'This token lacks the scope "penalties"' },
      },
    },
  });
});

test('two models with the same name stop the start', () => {
  const model = { ...listBans, success: { model: t.Object({}, { $id: 'BanList' }) } };
  expect(() => buildSchemas([listBans, model])).toThrow('two models are called BanList');
});

test('a parameter that accepts its documented invalid example stops the start as well', () => {
  const parameters = { status: { ...LIST_PARAMETERS.status, refused: 'ACTIVE' } };
  expect(() => describeOperation({ ...listBans, parameters }, { public: 30, protected: 60 })).toThrow(
    'the parameter status does not refuse "ACTIVE"',
  );
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
