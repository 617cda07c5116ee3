import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { writeClient } from '../../release/client.ts';
import {
  aSteamId,
  insertPenalties,
  insertServer,
  insertUser,
  saveServerPoll,
} from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { readOpenApiDocument } from '../../support/http/openapi-document.ts';
import { startSteamApi } from '../../support/providers/steam-api.ts';
import { aToken, NOW, startTestService } from '../../support/service/service.ts';

const database = await createTestDatabase();
const { db } = database;
const server = await insertServer(db, { name: 'Only Mirage #1' });
await saveServerPoll(db, server.id, {
  state: {
    hostname: 'Only Mirage',
    map: 'de_mirage',
    playersCount: 1,
    maxPlayers: 10,
    pingMs: 12,
    players: [{ name: 'Ala', score: 3 }],
  },
  polledAt: NOW,
});
await insertUser(db, 1, { nickname: 'Rzeźnik' });
await insertPenalties(db, [{ playerSteamId: aSteamId(1) }, { type: 'gag' }]);
const { token } = await aToken(db, 900);
const steam = startSteamApi();
afterAll(steam.stop);
steam.bans[aSteamId(1)] = { NumberOfVACBans: 2 };
const service = await startTestService({
  databaseUrl: database.url,
  env: { STEAM_API_URL: steam.url, STEAM_API_KEY: steam.key },
});

/** Within the repository, so that packages are found; its files are not committed. */
const folder = 'test/artifacts/api-client';
const program = await Bun.file('test/support/api-client/program.ts').text();

/** Runs a command; if it fails, so does the test, with everything it printed. */
async function run(command: string[], env: Record<string, string> = {}): Promise<string> {
  const child = Bun.spawn(command, { env: { ...process.env, ...env }, stdout: 'pipe', stderr: 'pipe' });
  const [stdout, stderr] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  expect([command.join(' '), await child.exited, stderr, stdout]).toEqual([
    command.join(' '),
    0,
    expect.any(String),
    expect.any(String),
  ]);
  return stdout;
}

test('the client of a release type-checks with every route, and works', async () => {
  const { text, document } = await readOpenApiDocument(service);
  const unused = Object.keys(document.paths).filter((path) => !program.includes(`'${path}'`));
  expect(unused).toEqual([]);

  await writeClient(folder, text);
  await Bun.write(join(folder, 'program.ts'), program);
  const compilerOptions = { exactOptionalPropertyTypes: false, lib: ['ESNext', 'DOM', 'DOM.AsyncIterable'] };
  await Bun.write(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../../tsconfig.json',
      compilerOptions,
      include: ['program.ts'],
      exclude: [],
    }),
  );
  await run(['node_modules/.bin/tsc', '--project', folder]);

  const printed = await run([process.execPath, join(folder, 'program.ts')], {
    API_URL: service.origin,
    API_TOKEN: token,
    PLAYER: aSteamId(1),
  });
  expect(JSON.parse(printed)).toEqual({
    servers: 1,
    detail: 'Only Mirage #1',
    players: 1,
    history: true,
    sound: false,
    sounds: 1,
    found: 'Rzeźnik',
    vacBans: 2,
    penalties: 1,
    bans: 'Rzeźnik',
    mutes: 1,
    warnings: 1,
    active: true,
    exported: 2,
    lifted: null,
    named: 2,
    user: 'Rzeźnik',
    users: true,
    token: 4,
    changes: false,
    stream: true,
    wrong: expect.stringContaining('steamid "nobody"'),
  });
});
