import { join } from 'node:path';
import { byPenaltySystem } from '../domain/systems.ts';
import { type Config, ROLES } from '../runtime/config.ts';

/** The settings of the demo: all roles, appeals, on its own data, without the service's database and sources. */
export function toDemoConfig(config: Config): Config {
  const dataDir = join(config.dataDir, 'demo');
  return {
    ...config,
    databaseUrl: undefined,
    databaseReplicaUrls: [],
    dataDir,
    storageDir: join(dataDir, 'storage'),
    sources: byPenaltySystem((name) => ({ ...config.sources[name], url: undefined })),
    appealUrl: undefined,
    appeals: config.appeals ?? { againDays: 30 },
    vipcore: { ...config.vipcore, url: undefined },
    roles: ROLES,
  };
}
