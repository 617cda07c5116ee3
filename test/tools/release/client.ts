import { cp, mkdir, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import packageJson from '../../../package.json';

const README = `# community-api-client

Types and a client for a Community API of this version, generated from its OpenAPI document.

    import { createCommunityApi } from 'community-api-client';

    const api = createCommunityApi('https://play.example.org', process.env.API_TOKEN);
    const { data, error } = await api.GET('/api/v1/servers/{server}', { params: { path: { server: 'mirage' } } });

It is [openapi-fetch](https://openapi-ts.dev/openapi-fetch/) with the paths of the API. Keep the token on your server.
`;

const INDEX = `import createClient from 'openapi-fetch';

export function createCommunityApi(baseUrl, token) {
  return createClient({ baseUrl, headers: token ? { Authorization: \`Bearer \${token}\` } : {} });
}
`;

const TYPES = `import type { Client } from 'openapi-fetch';
import type { paths } from './openapi.d.ts';

export type { components, paths } from './openapi.d.ts';

/**
 * A client of the service at an address such as https://play.example.org.
 * @param token for the protected endpoints; it is a secret.
 */
export declare function createCommunityApi(baseUrl: string, token?: string): Client<paths>;
`;

/**
 * Writes the package of the client into a folder, which is emptied first.
 * @param folder within the repository, so that packages are found.
 * @param document the OpenAPI document in JSON.
 */
export async function writeClient(folder: string, document: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  const packages = join(folder, 'node_modules');
  await mkdir(packages, { recursive: true });
  // openapi-typescript needs the API that TypeScript has in version 5; this repository is checked by version 7.
  const generator = join(packages, 'openapi-typescript');
  await cp('node_modules/openapi-typescript', generator, { recursive: true, dereference: true });
  await symlink(join(process.cwd(), 'node_modules/typescript5'), join(packages, 'typescript'));
  await Bun.write(join(folder, 'openapi.json'), document);
  const files = [join(folder, 'openapi.json'), '--output', join(folder, 'openapi.d.ts')];
  await Bun.$`${process.execPath} ${join(generator, 'bin/cli.js')} ${files}`.quiet();
  await rm(packages, { recursive: true });

  const manifest = {
    name: 'community-api-client',
    version: packageJson.version,
    description: packageJson.description,
    license: packageJson.license,
    type: 'module',
    exports: { types: './index.d.ts', default: './index.js' },
    files: ['index.js', 'index.d.ts', 'openapi.d.ts', 'openapi.json'],
    dependencies: { 'openapi-fetch': packageJson.devDependencies['openapi-fetch'] },
  };
  await Bun.write(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  await Bun.write(join(folder, 'README.md'), README);
  await Bun.write(join(folder, 'index.js'), INDEX);
  await Bun.write(join(folder, 'index.d.ts'), TYPES);
}
