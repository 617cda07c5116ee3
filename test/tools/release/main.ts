import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import packageJson from '../../../package.json';
import { writeClient } from './client.ts';
import { listImageTags } from './image-tags.ts';

/** Writes what a release publishes beside the image: `bun test/tools/release/main.ts v1.0.0 FOLDER`. */
const [tag, folder = 'release'] = process.argv.slice(2);
const { version } = packageJson;
if (tag !== `v${version}`) throw new Error(`The tag ${tag} is not the version of package.json, v${version}`);

const changelog = await Bun.file('CHANGELOG.md').text();
const notes = changelog.split(/^## /m).find((section) => section.startsWith(version));
if (!notes) throw new Error(`CHANGELOG.md has no section ${version}`);
await mkdir(folder, { recursive: true });
await Bun.write(join(folder, 'notes.md'), notes.slice(notes.indexOf('\n') + 1).trim());

const refs = await Bun.$`git ls-remote --tags --refs origin`.text();
const released = [...refs.matchAll(/refs\/tags\/(.+)/g)].map(([, name = '']) => name);
await Bun.write(join(folder, 'image-tags'), `${listImageTags(version, released).join('\n')}\n`);

const data = await mkdtemp(join(tmpdir(), 'release-'));
const origin = 'http://127.0.0.1:3999';
const service = Bun.spawn([process.execPath, 'src/main.ts'], {
  env: { ...process.env, DATA_DIR: join(data, 'db'), STORAGE_DIR: join(data, 'storage'), PORT: '3999' },
  stdout: 'ignore',
});
while (!(await fetch(`${origin}/readyz`).catch(() => undefined))?.ok) {
  if (service.exitCode !== null) throw new Error('The service did not start');
  await Bun.sleep(200);
}
const document = await (await fetch(`${origin}/swagger/json`)).text();
service.kill();
await service.exited;
await rm(data, { recursive: true });
await Bun.write(join(folder, 'openapi.json'), document);

const client = 'test/artifacts/api-client';
await writeClient(client, document);
await Bun.$`bun pm pack --destination ${resolve(folder)}`.cwd(client).quiet();
