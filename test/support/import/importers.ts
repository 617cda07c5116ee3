import { IKS } from '../../../src/import/iks.ts';
import type { ImportDeps } from '../../../src/import/import-run.ts';
import { simpleAdminSystem } from '../../../src/import/simple-admin/simple-admin.ts';
import { importSource, type SourceOptions } from '../../../src/import/source-system.ts';
import { sourcebansSystem } from '../../../src/import/sourcebans/sourcebans.ts';

type SystemOptions<System extends (options: never) => unknown> = SourceOptions & Parameters<System>[0];

export const importIks = async (deps: ImportDeps, options: SourceOptions) => importSource(deps, IKS, options);

export const importSimpleAdmin = async (
  deps: ImportDeps,
  { timezone, trustsOnlineTime, ...options }: SystemOptions<typeof simpleAdminSystem>,
) => importSource(deps, simpleAdminSystem({ timezone, trustsOnlineTime }), options);

export const importSourcebans = async (
  deps: ImportDeps,
  { prefix, ...options }: SystemOptions<typeof sourcebansSystem>,
) => importSource(deps, sourcebansSystem({ prefix }), options);
