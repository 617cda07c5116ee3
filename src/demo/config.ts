import { join } from 'node:path';
import { type Config, ROLES } from '../runtime/config.ts';

/** The settings of the demo: all roles, appeals, on its own data, without the service's database and sources. */
export function toDemoConfig(config: Config): Config {
  const { simpleadmin, sourcebans, iks } = config.sources;
  const dataDir = join(config.dataDir, 'demo');
  return {
    ...config,
    databaseUrl: undefined,
    databaseReplicaUrls: [],
    dataDir,
    storageDir: join(dataDir, 'storage'),
    sources: {
      simpleadmin: { ...simpleadmin, url: undefined },
      sourcebans: { ...sourcebans, url: undefined },
      iks: { ...iks, url: undefined },
    },
    appealUrl: undefined,
    appeals: config.appeals ?? { againDays: 30 },
    vipcore: { ...config.vipcore, url: undefined },
    roles: ROLES,
  };
}
