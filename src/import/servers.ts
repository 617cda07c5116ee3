import type { Db } from '../db/client.ts';
import { Conflict, InvalidInput } from '../domain/errors.ts';
import type { Actor } from '../domain/rights/actor.ts';
import { formatServerAddress, parseServerAddress, tryParseServerAddress } from '../domain/server-address.ts';
import { hasVisibleCharacter } from '../domain/text/visible-text.ts';
import {
  addServer,
  findServerByAddress,
  listRemovedServers,
  listServerAliases,
  listServers,
  saveServerAlias,
} from '../queries/servers/servers.ts';
import { resolveHost } from '../runtime/resolve-host.ts';
import { report } from './import-report.ts';
import type { ImportRun, Warn } from './import-run.ts';
import { cleanText, MAX_NAME_LENGTH } from './source/clean-text.ts';
import {
  findSourceTable,
  type SourceDatabase,
  type SourceRow,
  selectSourceRows,
  type WantedColumns,
} from './source/tables.ts';
import { tryParse } from './source/values.ts';

/** The table of servers in a source, read as `id`, `name`, and `address`, with or without a separate `port`. */
export type SourceServerTable = {
  name: string;
  columns: WantedColumns;
  /** Which rows are servers; all of them by default. The table's alias is `p`. */
  condition?: string;
};

/** Our ids of servers by the source's ids; {@link findServerId} reads them. */
export type ServerIds = ReadonlyMap<string, number>;

const DEFAULT_PORT = 27_015;

/**
 * Finds our server for each server of a source by its address (our host names are also resolved), and saves it as an
 * alias: several ids of a source may stand for one server. An unknown server is added, hidden until an operator unhides
 * it. An alias, which an operator may edit, stays until its address at the source becomes that of another server of ours.
 * A server with an address or name that is not allowed is a warning in the summary.
 * @returns our ids: 0, no server, for one that is not allowed; -1 for one that a dry run would add.
 */
export async function matchSourceServers(
  run: ImportRun,
  database: SourceDatabase,
  { name: tableName, columns, condition = 'true' }: SourceServerTable,
): Promise<ServerIds> {
  const { db, source, isDryRun, summary, actor } = run;
  const aliases = await listServerAliases(db, source.name);
  const serverIds = new Map(aliases.map(({ sourceServerId, serverId }) => [sourceServerId, serverId]));
  const table = await findSourceTable(database, tableName, columns);
  if (!table) return serverIds;
  const aliasById = new Map(aliases.map((alias) => [alias.sourceServerId, alias]));
  const rows = await selectSourceRows(database, { ...table, condition });
  const changed = rows.filter((row) => {
    const alias = aliasById.get(row.id ?? '');
    const address = tryParse(() => addressOf(row));
    return !alias || (address !== undefined && address !== alias.address);
  });
  if (changed.length === 0) return serverIds;
  const ours = await resolveAddresses(await listOurAddresses(db));
  const removed = await resolveAddresses(await listRemovedServers(db));
  for (const row of changed) {
    const sourceServerId = row.id ?? '';
    const alias = aliasById.get(sourceServerId);
    try {
      const address = addressOf(row);
      // An alias that has no address yet gets it, whichever server an operator chose for it.
      const ourId = alias?.address === null ? alias.serverId : ours.get(address);
      const serverId = ourId ?? (alias ? undefined : await add(row, address));
      if (serverId === undefined) continue;
      if (alias && serverId !== alias.serverId) summary.serversMoved.push({ id: sourceServerId, address });
      serverIds.set(sourceServerId, serverId);
      if (!isDryRun) await saveServerAlias(db, { source: source.name, sourceServerId, serverId, address });
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error;
      const reason = `its penalties are kept without a server: ${error.message}`;
      report(run, 'warning', { table: tableName, id: sourceServerId, reason });
      serverIds.set(sourceServerId, NO_SERVER);
    }
  }
  return serverIds;

  /** @throws {InvalidInput} for a name that is not allowed. */
  async function add({ name }: SourceRow, normal: string): Promise<number> {
    const cleanName = cleanText(name, MAX_NAME_LENGTH);
    const label = hasVisibleCharacter(cleanName) ? cleanName : normal;
    const formerId = removed.get(normal);
    // It was brought back under another of its addresses.
    if (formerId !== undefined && ours.values().some((id) => id === formerId)) return formerId;
    const { id, isAdded } = isDryRun
      ? { id: formerId ?? MADE_BY_DRY_RUN, isAdded: true }
      : await addOrFindServer(db, { name: label, address: normal, formerId, actor });
    if (isAdded) summary.serversAdded.push(label);
    ours.set(normal, id);
    return id;
  }
}

/** @throws {InvalidInput} for an address that is not allowed. */
function addressOf({ address, port }: SourceRow): string {
  return normalizeAddress(port ? formatServerAddress({ host: address ?? '', port }) : (address ?? ''));
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

/** Adds a hidden server, or finds the one that another import has just added. */
async function addOrFindServer(
  db: Db,
  server: { name: string; address: string; formerId: number | undefined; actor: Actor },
): Promise<{ id: number; isAdded: boolean }> {
  try {
    const { id } = await addServer(db, { ...server, isHidden: true });
    return { id, isAdded: true };
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    const other = await findServerByAddress(db, server.address);
    if (!other) throw error;
    return { id: other.id, isAdded: false };
  }
}

const RESOLVE_LIMIT_MS = 2000;

type AddressOfServer = { id: number; address: string };

/** Both addresses of our servers; the polled ones last, since the last of equal ones counts. */
async function listOurAddresses(db: Db): Promise<AddressOfServer[]> {
  const rows = await listServers(db);
  return [
    ...rows.flatMap(({ id, publicAddress }) =>
      publicAddress === null ? [] : [{ id, address: publicAddress }],
    ),
    ...rows,
  ];
}

/** Ids of servers by their addresses, host names also by their IP addresses, which sources have. */
async function resolveAddresses(addresses: readonly AddressOfServer[]): Promise<Map<string, number>> {
  const resolved = await Promise.all(
    addresses.map(async ({ id, address }) => {
      const { host = '', port = 0 } = tryParseServerAddress(address) ?? {};
      const found = await resolveHost(host, { timeoutMs: RESOLVE_LIMIT_MS }).catch(() => []);
      return found.map((ip) => [formatServerAddress({ host: ip.address, port }), id] as const);
    }),
  );
  const asConfigured = addresses.map(({ id, address }) => [address.toLowerCase(), id] as const);
  return new Map([...resolved.flat(), ...asConfigured]);
}

/** `HOST:PORT` in lower case, with the default port if none is given. @throws {InvalidInput} for an invalid address. */
function normalizeAddress(address: string): string {
  const trimmed = address.trim().toLowerCase();
  const complete = /:[0-9]+$/.test(trimmed) ? trimmed : `${trimmed}:${DEFAULT_PORT}`;
  parseServerAddress(complete);
  return complete;
}
