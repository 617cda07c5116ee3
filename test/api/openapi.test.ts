import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv';
import addFormats from 'ajv-formats';
import { sql } from 'drizzle-orm';
import { BASES } from '../../api/app.ts';
import {
  aSteamId,
  insertPenalties,
  insertReadySound,
  insertServer,
  saveServerPoll,
} from '../support/builders.ts';
import { createTestDatabase } from '../support/database.ts';
import { startDatabaseProxy } from '../support/database-proxy.ts';
import { aToken, bearer, NOW, startTestService, type TestService } from '../support/service.ts';

type Header = { description: string; example: string };
type Operation = {
  operationId: string;
  parameters: {
    name: string;
    in: string;
    description: string;
    example?: unknown;
    schema: { type: string };
  }[];
  responses: Record<
    string,
    {
      description: string;
      headers: Record<string, Header>;
      content?: Record<string, { schema: { $ref: string } }>;
    }
  >;
  security?: object[];
};
type Document = {
  openapi: string;
  servers: { url: string }[];
  paths: Record<string, { get: Operation }>;
  components: { schemas: Record<string, unknown> };
};

const database = await createTestDatabase();
const { db } = database;
const service = await startTestService({ databaseUrl: database.url });
const { token } = await aToken(db, 1);
const server = await insertServer(db, { slug: 'only-mirage-1', name: 'Only Mirage #1' });
const silent = await insertServer(db, { slug: 'silent' });
await saveServerPoll(db, server.id, {
  answer: {
    hostname: 'Only Mirage | 128 tick',
    map: 'de_mirage',
    playersCount: 2,
    maxPlayers: 10,
    pingMs: 12,
    players: [
      { name: 'Ala', score: 3 },
      { name: 'Rzeźnik', score: -1 },
    ],
  },
  polledAt: new Date(NOW.getTime() - 5000),
});
await insertReadySound(db, aSteamId(1));
await insertPenalties(db, [
  { type: 'ban', playerSteamId: aSteamId(1) },
  { type: 'ban', durationMinutes: 60, endsAt: new Date('2026-11-01T13:00:00Z') },
  { type: 'mute', status: 'UNBANNED', adminSteamId: aSteamId(900) },
  { type: 'gag' },
  { type: 'silence', serverId: 0 },
  { type: 'warn', reason: '<b>"quoted"</b> 🎧 \u202Ertl' },
]);

const document: Document = JSON.parse((await service.ask('/swagger/json')).text);
// OpenAPI's own keywords (`example`) are no business of a validator; `nullable` is known to it.
const ajv = new Ajv({ strict: false, allErrors: true });
addFormats(ajv);
ajv.addSchema(document, 'document');

/** Sent by every HTTP server; no client is told of them by an API's document. */
const TRANSPORT_HEADERS = ['content-type', 'content-length', 'content-encoding', 'date', 'connection'];

type Case = {
  documentedAs: string;
  status: number;
  path: string;
  init?: RequestInit;
  /** Another service than the one that all cases share. */
  at?: TestService;
};

async function check({ documentedAs, status, path, init = bearer(token), at = service }: Case) {
  const operation = document.paths[`/api/v1${documentedAs}`]?.get;
  const answered = operation?.responses[String(status)];
  if (!answered) throw new Error(`${documentedAs} documents no ${status}`);
  for (const base of BASES) {
    const answer = await at.ask(`${base}${path}`, init);
    expect([path, answer.status]).toEqual([path, status]);
    const reference = answered.content?.['application/json']?.schema.$ref;
    if (reference === undefined) expect(answer.text).toBe('');
    else expect(problems(reference, answer.body)).toEqual([]);
    const sent = [...answer.headers.keys()].filter((name) => !TRANSPORT_HEADERS.includes(name));
    const documented = Object.keys(answered.headers).map((name) => name.toLowerCase());
    expect({ path, status, headers: sent.sort() }).toEqual({ path, status, headers: documented.sort() });
  }
}

function problems(reference: string, body: unknown): string[] {
  const validate = ajv.getSchema(`document${reference}`);
  if (!validate) throw new Error(`there is no ${reference}`);
  validate(body);
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

const PUBLIC = [
  { documentedAs: '/servers', path: '/servers' },
  { documentedAs: '/servers/{server}', path: '/servers/only-mirage-1' },
  { documentedAs: '/servers/{server}', path: '/servers/silent' },
  { documentedAs: '/servers/{server}/players', path: `/servers/${server.id}/players` },
  { documentedAs: '/servers/{server}/players', path: `/servers/${silent.id}/players` },
  { documentedAs: '/servers/{server}/history', path: '/servers/only-mirage-1/history?hours=2' },
  { documentedAs: '/players/{player}/roundsound', path: `/players/${aSteamId(1)}/roundsound` },
  { documentedAs: '/players/{player}/roundsound', path: '/players/nobody/roundsound' },
];
const PROTECTED = [
  { documentedAs: '/penalties', path: '/penalties' },
  { documentedAs: '/penalties', path: '/penalties?type=ban&status=wygas%C5%82y&page=7' },
  { documentedAs: '/bans', path: '/bans' },
  { documentedAs: '/mutes', path: '/mutes' },
  { documentedAs: '/warns', path: '/warns' },
  { documentedAs: '/users/lookup', path: `/users/lookup?steamid64=${aSteamId(1)}` },
];

describe('the document', () => {
  test('is valid OpenAPI 3.0.3', async () => {
    expect(document.openapi).toBe('3.0.3');
    const { valid, errors } = await new Validator().validate(structuredClone(document));
    expect([valid, errors]).toEqual([true, undefined]);
  });

  test('holds schemas that compile and resolve', () => {
    for (const name of Object.keys(document.components.schemas)) {
      expect(ajv.getSchema(`document#/components/schemas/${name}`)).toBeFunction();
    }
  });

  test('keeps to the keywords of 3.0, which knows no const, examples or type null', () => {
    const text = JSON.stringify(document);
    for (const keyword of ['"const":', '"examples":', '"type":"null"', '"anyOf":[{"format":"integer"']) {
      expect(text).not.toContain(keyword);
    }
  });

  test('has the ten operations, and both bases as servers', () => {
    expect(Object.keys(document.paths).sort()).toEqual(
      [
        '/servers',
        '/servers/{server}',
        '/servers/{server}/players',
        '/servers/{server}/history',
        '/players/{player}/roundsound',
        '/penalties',
        '/bans',
        '/mutes',
        '/warns',
        '/users/lookup',
      ]
        .map((path) => `/api/v1${path}`)
        .sort(),
    );
    expect(document.servers.map(({ url }) => url)).toEqual([
      'https://play.example.org',
      'https://play.example.org/index.php',
    ]);
  });

  test('names the parameters of specification 4.3 and 4.5', () => {
    const names = (path: string) =>
      document.paths[`/api/v1${path}`]?.get.parameters.filter((p) => p.in === 'query').map((p) => p.name);
    const common = ['status', 'server_id', 'steamid'];
    const pages = ['per_page', 'page'];
    expect(names('/penalties')).toEqual(['type', ...common, 'admin_steamid', ...pages]);
    expect(names('/bans')).toEqual([...common, ...pages]);
    expect(names('/mutes')).toEqual(['type', ...common, ...pages]);
    expect(names('/warns')).toEqual([...common, ...pages]);
    expect(names('/users/lookup')).toEqual(['discord_id', 'steamid64']);
  });

  test('describes every parameter and header, with an example', () => {
    for (const [path, { get }] of Object.entries(document.paths)) {
      for (const parameter of get.parameters.filter((p) => p.in !== 'header')) {
        expect([path, parameter.name, typeof parameter.example]).toEqual([
          path,
          parameter.name,
          parameter.schema.type === 'integer' ? 'number' : 'string',
        ]);
        expect(parameter.description).not.toBe('');
      }
      for (const { headers } of Object.values(get.responses)) {
        for (const header of Object.values(headers)) {
          expect(header.description).not.toBe('');
          expect(header.example).not.toBe('');
        }
      }
    }
  });

  test('gives an example of every value', () => {
    const missing: string[] = [];
    const walk = (schema: unknown, path: string): void => {
      if (typeof schema !== 'object' || schema === null) return;
      const { properties, items, anyOf, $ref, example, enum: values } = schema as Record<string, unknown>;
      if (properties) {
        for (const [name, inner] of Object.entries(properties)) walk(inner, `${path}.${name}`);
      } else if (Array.isArray(anyOf)) for (const inner of anyOf) walk(inner, path);
      else if (items) walk(items, `${path}[]`);
      else if ($ref === undefined && example === undefined && values === undefined) missing.push(path);
    };
    for (const [name, schema] of Object.entries(document.components.schemas)) walk(schema, name);
    expect(missing).toEqual([]);
  });

  test('gives examples that its own schemas allow', () => {
    const wrong: string[] = [];
    for (const [path, { get }] of Object.entries(document.paths)) {
      for (const parameter of get.parameters) {
        if (parameter.example === undefined) continue;
        if (!ajv.compile(parameter.schema)(parameter.example)) wrong.push(`${path} ${parameter.name}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  test('says which operations need a token, either way', () => {
    for (const [path, { get }] of Object.entries(document.paths)) {
      const isProtected = PROTECTED.some(({ documentedAs }) => path === `/api/v1${documentedAs}`);
      expect([path, get.security]).toEqual([path, isProtected ? [{ bearer: [] }, { query: [] }] : undefined]);
    }
  });
});

describe('real answers hold to the document:', () => {
  for (const { documentedAs, path } of [...PUBLIC, ...PROTECTED]) {
    test(`200 ${path}`, () => check({ documentedAs, path, status: 200 }));
  }

  for (const { documentedAs, path } of PUBLIC) {
    test(`304 ${path}`, () =>
      check({ documentedAs, path, status: 304, init: { headers: { 'If-None-Match': '*' } } }));
  }

  test('400 of parameters that are not allowed', async () => {
    for (const [documentedAs, query] of [
      ['/penalties', 'type=kick'],
      ['/penalties', 'admin_steamid=x'],
      ['/bans', 'status=x'],
      ['/mutes', 'type=ban'],
      ['/warns', 'server_id=x'],
      ['/users/lookup', ''],
    ] as const) {
      await check({ documentedAs, path: `${documentedAs}?${query}`, status: 400 });
    }
    await check({
      documentedAs: '/servers/{server}/history',
      path: '/servers/only-mirage-1/history?hours=x',
      status: 400,
    });
  });

  test('401 of every protected operation', async () => {
    for (const { documentedAs, path } of PROTECTED)
      await check({ documentedAs, path, status: 401, init: {} });
  });

  test('404 of servers and users', async () => {
    for (const [documentedAs, path] of [
      ['/servers/{server}', '/servers/nope'],
      ['/servers/{server}/players', '/servers/only-mirage-1/players'],
      ['/servers/{server}/history', '/servers/nope/history'],
      ['/users/lookup', '/users/lookup?discord_id=404'],
    ] as const) {
      await check({ documentedAs, path, status: 404 });
    }
  });

  test('405 and unknown paths have the body of an error', async () => {
    for (const [path, method] of [
      ['/servers', 'POST'],
      ['/bans', 'DELETE'],
      ['/nope', 'GET'],
    ] as const) {
      const { body } = await service.get(path, { method });
      expect(problems('#/components/schemas/Error', body)).toEqual([]);
    }
  });
});

// Started here, not in hooks: what `startTestService` registers to run after the tests would run after the hook.
const limited = await startTestService({
  databaseUrl: database.url,
  env: { RATE_LIMIT_PUBLIC: '1', RATE_LIMIT_PROTECTED: '1' },
});
const proxy = await startDatabaseProxy(database.url);
afterAll(proxy.stop);
const stranded = await startTestService({ databaseUrl: proxy.url });

describe('real answers of a limited service hold to the document:', () => {
  beforeAll(async () => {
    await limited.ask('/api/v1/servers');
    await limited.ask('/api/v1/bans', bearer(token));
  });

  test('429 of every operation', async () => {
    for (const { documentedAs, path } of [...PUBLIC, ...PROTECTED]) {
      await check({ documentedAs, path, status: 429, at: limited });
    }
  });
});

describe('real answers without a database hold to the document:', () => {
  test('503 of every operation that reads it', async () => {
    proxy.cut();
    for (const { documentedAs, path } of PROTECTED) {
      await check({ documentedAs, path, status: 503, at: stranded });
    }
    await check({
      documentedAs: '/servers/{server}/history',
      path: '/servers/only-mirage-1/history?hours=3',
      status: 503,
      at: stranded,
    });
  });
});

describe('real answers of a broken service hold to the document:', () => {
  // The last tests of the file: tables are gone after them.
  beforeAll(async () => {
    await db.execute(sql`alter table penalties rename to moved_penalties`);
    await db.execute(sql`alter table server_samples rename to moved_server_samples`);
  });

  test('500 that says nothing of the failure', async () => {
    for (const { documentedAs, path } of PROTECTED) {
      await check({ documentedAs, path: path.replace('page=7', 'page=1'), status: 500 });
      const { body } = await service.ask(`/api/v1${path}`, bearer(token));
      expect(body).toEqual({ success: false, message: 'Server error' });
    }
    await check({
      documentedAs: '/servers/{server}/history',
      path: '/servers/only-mirage-1/history?hours=5',
      status: 500,
    });
  });
});

describe('the page', () => {
  test('loads everything from our own host, and may load from no other', async () => {
    for (const path of ['/swagger', '/swagger/']) {
      const page = await service.ask(path);
      expect(page.status).toBe(200);
      expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(page.headers.get('content-security-policy')).toStartWith("default-src 'self';");
      expect(page.text).not.toMatch(/https?:\/\//);
      const addresses = [...page.text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? '');
      expect(addresses).toHaveLength(4);
      for (const address of addresses) {
        expect(address).toStartWith('/swagger/assets/');
        const asset = await service.ask(address);
        expect([address, asset.status, asset.text.length > 50]).toEqual([address, 200, true]);
      }
    }
  });

  test('starts on our own document', async () => {
    const script = await service.ask('/swagger/assets/start.js');
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(script.text).toContain("url: '/swagger/json'");
    expect(script.text).toContain('validatorUrl: null');
  });

  test('gives no other file of the package', async () => {
    for (const name of ['package.json', '..%2fpackage.json', 'swagger-ui.js.map', '__proto__']) {
      expect((await service.ask(`/swagger/assets/${name}`)).status).toBe(404);
    }
  });
});
