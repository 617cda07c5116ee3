import { expect, test } from 'bun:test';
import { join } from 'node:path';
import { aSteamId } from '../../support/database/builders.ts';
import { serveDocumentedApi } from '../../support/http/documented-api.ts';
import { readOpenApiDocument } from '../../support/http/openapi-document.ts';
import { writeClient } from '../../tools/release/client.ts';

const { service, token } = await serveDocumentedApi();

/** Within the repository, so that packages are found; its files are not committed. */
const folder = 'test/artifacts/api-client';
const program = await Bun.file('test/support/api-client/program.ts').text();

/** What a command prints. @throws with everything it printed when it fails. */
async function run(command: string[], env: Record<string, string> = {}): Promise<string> {
  const { exitCode, stdout, stderr } = await Bun.$`${command}`
    .env({ ...process.env, ...env })
    .nothrow()
    .quiet();
  if (exitCode !== 0) throw new Error(`${command.join(' ')} ended with ${exitCode}: ${stderr}${stdout}`);
  return String(stdout);
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
    servers: 3,
    detail: 'Only Mirage #1',
    players: 2,
    history: true,
    sound: true,
    sounds: 1,
    found: 'Rzeźnik',
    vacBans: 0,
    penalties: 1,
    bans: 'Rzeźnik',
    mutes: 1,
    warnings: 1,
    active: true,
    exported: 3,
    lifted: null,
    named: 5,
    user: 'Rzeźnik',
    users: true,
    token: 4,
    changes: false,
    stream: true,
    wrong: expect.stringContaining('steamid "nobody"'),
  });
});
