import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Db } from '../db/client.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import type { Actor } from '../domain/rights/actor.ts';
import { formatServerAddress, parseServerAddress, tryParseServerAddress } from '../domain/server-address.ts';
import { hasVisibleCharacter } from '../domain/text/visible-text.ts';
import {
  addServer,
  findServerByAddress,
  listServerAliases,
  listServers,
  saveServerAlias,
} from '../queries/servers/servers.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import { warn } from './import-report.ts';
import type { ImportRun, Warn } from './import-run.ts';
import { cleanText, MAX_NAME_LENGTH } from './source/clean-text.ts';
import type { SourceDatabase, SourceRow } from './source/source-database.ts';
import { selectColumns, selectSourceRows } from './source/tables.ts';

/** A game server of a source. */
type SourceServer = { sourceServerId: string; name: string | null; address: string };

/** The table of servers in a source. */
export type SourceServerTable = {
  name: string;
  /** Columns of a server's address; without them no server is matched. */
  needed: readonly string[];
  /** Columns that may be absent; then their values are null. */
  wanted: readonly string[];
  /** Which rows are servers; all of them by default. The table's alias is `p`. */
  condition?: string;
  toServer: (row: SourceRow) => SourceServer;
};

/** Our ids of servers by the source's ids; {@link findServerId} reads them. */
export type ServerIds = ReadonlyMap<string, number>;

const DEFAULT_PORT = 27_015;

/**
 * Finds our server for each server of a source by its address (our host names are also resolved), and saves it as an
 * alias: several ids of a source may stand for one server. An unknown server is added, hidden until an operator unhides
 * it. Existing aliases are kept, so that an operator may change them. A server with an address or name that is not
 * allowed is a warning in the summary.
 * @returns our ids: 0, no server, for one that is not allowed; -1 for one that a dry run would add.
 */
export async function matchSourceServers(
  run: ImportRun,
  database: SourceDatabase,
  table: SourceServerTable,
): Promise<ServerIds> {
  const { db, source, isDryRun, summary, listener, actor } = run;
  const serverIds = await listServerAliases(db, source);
  let ours: Map<string, number> | undefined;
  for (const { sourceServerId, name, address } of await listSourceServers(database, table)) {
    if (serverIds.has(sourceServerId)) continue;
    ours ??= await listOurAddresses(db);
    const serverId = await matchOne(ours, { name, address }).catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error;
      const reason = `its penalties are kept without a server: ${error.message}`;
      warn(summary, listener, { table: table.name, id: sourceServerId, reason });
      return NO_SERVER;
    });
    serverIds.set(sourceServerId, serverId);
    if (isDryRun || serverId === NO_SERVER) continue;
    await saveServerAlias(db, { source, sourceServerId, serverId });
  }
  return serverIds;

  /** @throws {InvalidInput} for an address or name that is not allowed. */
  async function matchOne(
    ours: Map<string, number>,
    { name, address }: Omit<SourceServer, 'sourceServerId'>,
  ): Promise<number> {
    const normal = normalizeAddress(address);
    const known = ours.get(normal);
    if (known !== undefined) return known;
    const given = cleanText(name, MAX_NAME_LENGTH);
    const label = hasVisibleCharacter(given) ? given : normal;
    if (isDryRun) {
      summary.serversAdded.push(label);
      ours.set(normal, MADE_BY_DRY_RUN);
      return MADE_BY_DRY_RUN;
    }
    const { id, isAdded } = await addOrFindServer(db, { name: label, address: normal, actor });
    if (isAdded) summary.serversAdded.push(label);
    ours.set(normal, id);
    return id;
  }
}

const NO_SERVER = 0;
const MADE_BY_DRY_RUN = -1;

/**
 * Our server for the server id of a source's penalty. Known ids come first, since a source may number servers from 0;
 * otherwise an empty id, 0 and negative ids mean no server.
 * @returns 0 for no server. @param warn called when the source no longer has this server.
 */
export function findServerId(serverIds: ServerIds, id: string | null | undefined, warn: Warn): number {
  if (id === null || id === undefined) return NO_SERVER;
  const serverId = serverIds.get(id);
  if (serverId !== undefined) return serverId;
  if (!(Number(id) <= 0)) warn(`its server ${id} no longer exists at the source: kept without a server`);
  return NO_SERVER;
}

async function listSourceServers(
  database: SourceDatabase,
  { name, needed, wanted, condition = 'true', toServer }: SourceServerTable,
): Promise<SourceServer[]> {
  const columns = await database.listColumns(name);
  if (!needed.every((column) => columns.has(column))) return [];
  const selected = selectColumns(columns, [...needed, ...wanted]);
  const rows = await selectSourceRows(database, { name, selected, joins: [], condition });
  return rows.map(toServer);
}

/** Adds a hidden server, or finds the one that another import has just added. */
async function addOrFindServer(
  db: Db,
  server: { name: string; address: string; actor: Actor },
): Promise<{ id: number; isAdded: boolean }> {
  try {
    const { id } = await addServer(db, { ...server, isHidden: true });
    return { id, isAdded: true };
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    const found = await findServerByAddress(db, server.address);
    if (!found) throw error;
    return { id: found.id, isAdded: false };
  }
}

const RESOLVE_LIMIT_MS = 2000;

/** Our servers by address; those with a host name also by its IP addresses, which sources have. */
async function listOurAddresses(db: Db): Promise<Map<string, number>> {
  const rows = await listServers(db);
  const resolved = await Promise.all(
    rows.map(async ({ id, address }) => {
      const { host, port } = tryParseServerAddress(address) ?? {};
      if (host === undefined || port === undefined) return [];
      return (await resolve(host)).map((ip) => [formatServerAddress({ host: ip, port }), id] as const);
    }),
  );
  const asConfigured = rows.map(({ id, address }) => [address.toLowerCase(), id] as const);
  return new Map([...resolved.flat(), ...asConfigured]);
}

async function resolve(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [];
  const found = await withTimeLimit(lookup(host, { all: true }), RESOLVE_LIMIT_MS).catch(() => []);
  return found.map(({ address }) => address);
}

/** `HOST:PORT` in lower case, with the default port if none is given. @throws {InvalidInput} for an invalid address. */
function normalizeAddress(address: string): string {
  const trimmed = address.trim().toLowerCase();
  const complete = /:[0-9]+$/.test(trimmed) ? trimmed : `${trimmed}:${DEFAULT_PORT}`;
  parseServerAddress(complete);
  return complete;
}
