import type { ImportSummary } from '../import-report.ts';
import type { ImportDeps } from '../import-run.ts';
import { importSource, type SourceOptions } from '../import-source.ts';
import { matchSourceServers, type SourceServerTable } from '../servers.ts';
import type { SourceDatabase } from '../source/source-database.ts';
import { wallClockToInstant } from '../source/wall-clock.ts';
import type { SourceSystem } from '../source-system.ts';
import { readSimpleAdmins } from './admins.ts';
import { createSimpleAdminParser, findSimpleAdminTables } from './rows.ts';

const SERVERS: SourceServerTable = {
  name: 'sa_servers',
  needed: ['id', 'address'],
  wanted: ['hostname'],
  toServer: ({ id, hostname, address }) => ({
    sourceServerId: id ?? '',
    name: hostname ?? null,
    address: address ?? '',
  }),
};

type SystemOptions = {
  /** The plugin's configured zone, `UTC` by default; ignored for SQLite files, which are in UTC. */
  timezone?: string | undefined;
  /** Counts down by `sa_mutes.passed` (minutes online) where it is set; off by default. */
  trustsOnlineTime?: boolean | undefined;
};

export type SimpleAdminOptions = SourceOptions & SystemOptions;

/** Imports the bans, mutes and warnings of a CS2-SimpleAdmin database; see {@link importSource}. */
export async function importSimpleAdmin(
  deps: ImportDeps,
  { timezone, trustsOnlineTime, ...options }: SimpleAdminOptions,
): Promise<ImportSummary> {
  return importSource(deps, simpleAdminSystem({ timezone, trustsOnlineTime }), options);
}

/**
 * CS2-SimpleAdmin. Removing an admin there deletes the bans that they lifted.
 * @throws {InvalidInput} for an unknown zone.
 */
export function simpleAdminSystem({
  timezone = 'UTC',
  trustsOnlineTime = false,
}: SystemOptions): SourceSystem {
  const fromZone = wallClockToInstant(timezone);
  const fromUtc = wallClockToInstant('UTC');
  const toInstantOf = ({ kind }: SourceDatabase) => (kind === 'sqlite' ? fromUtc : fromZone);
  return {
    kind: 'simpleadmin',
    prefix: '',
    serverTable: SERVERS.name,
    readAdmins: (database) => readSimpleAdmins(database, toInstantOf(database)),
    async openTables(run, database) {
      const tables = await findSimpleAdminTables(database);
      const serverIds = await matchSourceServers(run, database, SERVERS);
      const toInstant = toInstantOf(database);
      return tables.map((source) => ({
        source,
        key: 'id',
        types: TYPES[source.name],
        // An empty status counts as active until its end.
        isActiveAt: () => "p.status in ('ACTIVE', '')",
        // SQLite has no ON UPDATE, and only some versions of the plugin set the column themselves.
        ...(database.kind === 'mysql' &&
          source.columns.has('updated_at') && {
            isChangedSince: (seconds: number) => `p.updated_at >= from_unixtime(${seconds})`,
          }),
        parser: createSimpleAdminParser(source.name, { serverIds, toInstant, trustsOnlineTime }),
      }));
    },
  };
}

const TYPES = {
  sa_bans: ['ban'],
  sa_mutes: ['mute', 'gag', 'silence'],
  sa_warns: ['warn'],
} as const;
