import { beforeAll, describe, expect, test } from 'bun:test';
import { ROUTES } from '../../../api/v1/routes.ts';
import { aSteamId } from '../../support/database/builders.ts';
import { startDatabaseProxy } from '../../support/database/database-proxy.ts';
import {
  type Operation,
  queryParametersOf,
  responseOf,
  serveDocumentedApi,
} from '../../support/http/documented-api.ts';
import { bearer, startTestService, type TestService } from '../../support/service/service.ts';

const { database, service, token, silent, operations, expectDocumented, queryExamplesOf } =
  await serveDocumentedApi();

/** An operation's address with these values, and with the document's own examples for what else the path needs. */
function addressOf(operation: Operation, values: Record<string, string | number> = {}): string {
  let path = operation.path;
  for (const { name, example } of operation.parameters) {
    path = path.replace(`{${name}}`, encodeURIComponent(values[name] ?? example));
  }
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (!operation.path.includes(`{${name}}`)) search.set(name, String(value));
  }
  return search.size > 0 ? `${path}?${search}` : path;
}

/** What an operation needs to succeed. */
function neededQueryOf(operation: Operation): Record<string, string | number> {
  if (operation.operationId === 'lookupUser') return { steamid64: aSteamId(1) };
  if (operation.operationId === 'lookupUsers') return { steamids: aSteamId(1) };
  const needed = queryParametersOf(operation).filter(({ required }) => required);
  return Object.fromEntries(needed.map(({ name, example }) => [name, example]));
}

function examplesOf(operation: Operation, status: number): Record<string, { value: unknown }> {
  return operation.responses[String(status)]?.content?.['application/json']?.examples ?? {};
}

describe('success is as documented:', () => {
  for (const operation of operations) {
    test(`200 of ${operation.operationId}, without and with all the examples of its parameters`, async () => {
      await expectDocumented(operation, {
        status: 200,
        address: addressOf(operation, neededQueryOf(operation)),
      });
      const address = addressOf(operation, queryExamplesOf(operation));
      await expectDocumented(operation, { status: 200, address });
    });
  }

  for (const operation of operations.filter(({ responses }) => '304' in responses)) {
    test(`304 of ${operation.operationId}`, async () => {
      const init = { headers: { ...bearer(token).headers, 'If-None-Match': '*' } };
      const address = addressOf(operation, neededQueryOf(operation));
      await expectDocumented(operation, { status: 304, address, init });
    });
  }

  test('200 where most fields are empty', async () => {
    for (const [path, address] of [
      ['/servers/{server}', '/servers/silent'],
      ['/servers/{server}/players', `/servers/${silent.id}/players`],
      ['/players/{player}/roundsound', '/players/nobody/roundsound'],
      ['/penalties', '/penalties?type=ban&status=wygas%C5%82y&page=7'],
    ] as const) {
      const operation = operations.find((one) => one.path === path);
      if (!operation) throw new Error(`there is no ${path}`);
      await expectDocumented(operation, { status: 200, address });
    }
  });

  test('headers whose value is the same everywhere are documented with it', async () => {
    for (const operation of operations) {
      const address = addressOf(operation, neededQueryOf(operation));
      const { headers } = await service.ask(`/api/v1${address}`, { ...bearer(token), method: 'HEAD' });
      for (const name of [
        'Cache-Control',
        'Vary',
        'Access-Control-Allow-Origin',
        'Access-Control-Expose-Headers',
        'X-RateLimit-Limit',
        'RateLimit-Policy',
      ]) {
        const example = responseOf(operation, 200).headers[name]?.example;
        expect([address, name, String(example)]).toEqual([address, name, headers.get(name) ?? '']);
      }
    }
  });
});

/** The failures of operations that take one of two parameters. */
const NEEDS_ONE_OF_TWO: Record<string, string[]> = {
  lookupUser: ['NobodyNamed'],
  lookupUsers: ['OneListNeeded'],
};

describe('failures are as documented:', () => {
  for (const operation of operations.filter(({ responses }) => '400' in responses)) {
    test(`400 of ${operation.operationId}, word for word for each parameter`, async () => {
      const own = ROUTES.find(({ id }) => id === operation.operationId);
      const refused = Object.values(own?.parameters ?? {}).filter((one) => one.refused !== undefined);
      const examples = examplesOf(operation, 400);
      const expectRefusal = async (values: Record<string, string>, example: string) => {
        const address = addressOf(operation, values);
        const { body } = await expectDocumented(operation, { status: 400, address });
        expect([address, body]).toEqual([address, examples[example]?.value]);
      };
      for (const { name, refused: text = '' } of refused) await expectRefusal({ [name]: text }, name);
      for (const { name, required } of queryParametersOf(operation))
        if (required) await expectRefusal({}, `${name}.absent`);
      const hasQuery = queryParametersOf(operation).length > 0;
      if (hasQuery) await expectRefusal({ page: '1'.repeat(8192) }, 'QueryTooLong');
      const filter = Object.values(own?.parameters ?? {}).find(({ aliases }) => aliases !== undefined);
      if (filter) await expectRefusal({ [filter.name.toUpperCase()]: '1' }, 'FilterMisspelled');
      expect(Object.keys(examples)).toEqual([
        ...refused.flatMap(({ name, isRequired }) => [name, ...(isRequired ? [`${name}.absent`] : [])]),
        ...(filter ? ['FilterMisspelled'] : []),
        ...(hasQuery ? ['QueryTooLong'] : []),
        ...(NEEDS_ONE_OF_TWO[operation.operationId] ?? []),
      ]);
    });
  }

  test('400 of a lookup that names nobody', async () => {
    for (const operation of operations.filter(({ operationId }) => operationId in NEEDS_ONE_OF_TWO)) {
      const { body } = await expectDocumented(operation, { status: 400, address: addressOf(operation) });
      const [name = ''] = NEEDS_ONE_OF_TWO[operation.operationId] ?? [];
      expect(body).toEqual(examplesOf(operation, 400)[name]?.value);
    }
  });

  for (const operation of operations.filter(({ isProtected }) => isProtected)) {
    test(`401 of ${operation.operationId}, without a token and with a bad one`, async () => {
      const address = addressOf(operation);
      const none = await expectDocumented(operation, { status: 401, address, init: {} });
      const bad = await expectDocumented(operation, { status: 401, address, init: bearer('bad') });
      expect([none.body, bad.body]).toEqual(
        ['TokenRequired', 'TokenInvalid'].map((name) => examplesOf(operation, 401)[name]?.value),
      );
    });
  }

  for (const operation of operations.filter(({ responses }) => '410' in responses)) {
    test(`410 of ${operation.operationId}`, async () => {
      const init = { headers: { ...bearer(token).headers, 'Last-Event-ID': 'nowhere' } };
      const address = addressOf(operation, { cursor: 'nowhere' });
      const { body } = await expectDocumented(operation, { status: 410, address, init });
      expect([body]).toEqual(Object.values(examplesOf(operation, 410)).map(({ value }) => value));
    });
  }

  for (const operation of operations.filter(({ responses }) => '404' in responses)) {
    test(`404 of ${operation.operationId}`, async () => {
      const address =
        operation.operationId === 'lookupUser'
          ? '/users/lookup?discord_id=404'
          : operation.path.replace(/\{(server|id)\}/, 'nope');
      const { body } = await expectDocumented(operation, { status: 404, address });
      expect([body]).toEqual(Object.values(examplesOf(operation, 404)).map(({ value }) => value));
    });
  }
});

// Started here, not in hooks: what `startTestService` registers to run after the tests would run after the hook.
const limited = await startTestService({
  databaseUrl: database.url,
  env: { RATE_LIMIT_PUBLIC: '1', RATE_LIMIT_PROTECTED: '1' },
});
const proxy = await startDatabaseProxy(database.url);
const stranded = await startTestService({ databaseUrl: proxy.url });

/** Asks all operations at once, and compares the body with the one documented example. */
async function expectFailureOf(status: number, asked: readonly Operation[], at: TestService): Promise<void> {
  const responses = asked.map(async (operation) => {
    // A history that was not requested before: otherwise it would come from memory.
    const query = 'hours' in queryExamplesOf(operation) ? { hours: status } : neededQueryOf(operation);
    const { body } = await expectDocumented(operation, { status, address: addressOf(operation, query), at });
    expect(Object.values(examplesOf(operation, status)).map(({ value }) => value)).toContainEqual(body);
  });
  await Promise.all(responses);
}

describe('failures of a limited service are as documented:', () => {
  beforeAll(async () => {
    await limited.ask('/api/v1/servers');
    await limited.ask('/api/v1/bans', bearer(token));
  });

  test('429 of every operation', () => expectFailureOf(429, operations, limited));
});

test('503 of every operation that reads the database, and of no other', async () => {
  const reading = operations.filter(({ responses }) => '503' in responses);
  expect(reading.map(({ operationId }) => operationId)).not.toContain('listServers');
  proxy.cut();
  await expectFailureOf(503, reading, stranded);
  for (const operation of operations.filter((one) => !reading.includes(one))) {
    await expectDocumented(operation, { status: 200, address: addressOf(operation), at: stranded });
  }
});

describe('failures of a broken service are as documented:', () => {
  // The last tests of the file: tables are gone after them.
  beforeAll(async () => {
    const tables = 'penalties penalty_tallies penalty_event_state server_samples steam_bans round_sounds';
    for (const table of tables.split(' '))
      await database.connection.unsafe(`alter table ${table} rename to moved_${table}`);
  });

  test('500 reveals nothing of the failure', () =>
    expectFailureOf(
      500,
      // The head of a stream is sent before anything is read; /token reads nothing but the token.
      operations.filter(
        ({ operationId, responses }) =>
          !['streamEvents', 'getToken'].includes(operationId) && '503' in responses,
      ),
      service,
    ));
});
