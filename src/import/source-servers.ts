import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { eq } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { serverAliases, servers } from '../db/schema.ts';
import { Conflict, InvalidInput } from '../errors.ts';
import { addServer, checkAddress } from '../queries/servers.ts';
import { hasVisibleCharacter } from '../visible-text.ts';
import { cleanText, LONGEST_NAME } from './clean-text.ts';
import { remark } from './import-report.ts';
import type { ImportRun } from './import-run.ts';

/** A game server as a source knows it. */
export type SourceServer = { sourceServerId: string; name: string | null; address: string };

const DEFAULT_PORT = 27_015;

/**
 * Finds our server for each server of a source, by its address (a host name of ours also by what it resolves to), and
 * remembers the pair: several ids of a source may mean one server of ours. A server we do not have is made, hidden until
 * an operator shows it. A pair once known stays, so that an operator may change it. A server that cannot be one of ours
 * is a warning in the summary.
 * @param table where the source keeps its servers, for the warning.
 * @returns our id by the source's id: 0, no server, for what cannot be one of ours; -1 for what a dry run would make.
 */
export async function matchSourceServers(
  run: ImportRun,
  table: string,
  sourceServers: readonly SourceServer[],
): Promise<ReadonlyMap<string, number>> {
  const { db, source, isDryRun, summary, listener } = run;
  const known = await db.select().from(serverAliases).where(eq(serverAliases.source, source));
  const serverIds = new Map(known.map((alias) => [alias.sourceServerId, alias.serverId]));
  let ours: Map<string, number> | undefined;
  for (const { sourceServerId, name, address } of sourceServers) {
    if (serverIds.has(sourceServerId)) continue;
    ours ??= await listOurAddresses(db);
    const serverId = await matchOne(ours, { name, address }).catch((error: unknown) => {
      if (!(error instanceof InvalidInput)) throw error;
      const reason = `its penalties are kept without a server: ${error.message}`;
      remark(summary, listener, { table, id: sourceServerId, reason });
      return NO_SERVER;
    });
    serverIds.set(sourceServerId, serverId);
    if (isDryRun || serverId === NO_SERVER) continue;
    await db.insert(serverAliases).values({ source, sourceServerId, serverId }).onConflictDoNothing();
  }
  return serverIds;

  /** @throws {InvalidInput} for an address or a name that no server of ours may have. */
  async function matchOne(
    ours: Map<string, number>,
    { name, address }: Omit<SourceServer, 'sourceServerId'>,
  ): Promise<number> {
    const normal = normalizeAddress(address);
    const known = ours.get(normal);
    if (known !== undefined) return known;
    const given = cleanText(name, LONGEST_NAME);
    const label = hasVisibleCharacter(given) ? given : normal;
    if (isDryRun) {
      summary.serversAdded.push(label);
      return MADE_BY_DRY_RUN;
    }
    const { id, isAdded } = await addOrFindServer(db, { name: label, address: normal });
    if (isAdded) summary.serversAdded.push(label);
    ours.set(normal, id);
    return id;
  }
}

const NO_SERVER = 0;
const MADE_BY_DRY_RUN = -1;

/** Adds a hidden server, unless another import adds the same one at this moment. */
async function addOrFindServer(
  db: Db,
  server: { name: string; address: string },
): Promise<{ id: number; isAdded: boolean }> {
  try {
    const { id } = await addServer(db, { ...server, isHidden: true });
    return { id, isAdded: true };
  } catch (error) {
    if (!(error instanceof Conflict)) throw error;
    const [found] = await db
      .select({ id: servers.id })
      .from(servers)
      .where(eq(servers.address, server.address));
    if (!found) throw error;
    return { id: found.id, isAdded: false };
  }
}

const RESOLVE_LIMIT_MS = 2000;

/** Our servers by address, those named by a host also by its IP addresses: sources know the IP. */
async function listOurAddresses(db: Db): Promise<Map<string, number>> {
  const rows = await db.select({ id: servers.id, address: servers.address }).from(servers);
  const resolved = await Promise.all(
    rows.map(async ({ id, address }) => {
      const { host, port } = checkAddress(address);
      return (await resolve(host)).map(
        (ip) => [ip.includes(':') ? `[${ip}]:${port}` : `${ip}:${port}`, id] as const,
      );
    }),
  );
  const asConfigured = rows.map(({ id, address }) => [address.toLowerCase(), id] as const);
  return new Map([...resolved.flat(), ...asConfigured]);
}

async function resolve(host: string): Promise<string[]> {
  if (isIP(host) !== 0) return [];
  const found = lookup(host, { all: true }).then(
    (all) => all.map(({ address }) => address),
    () => [],
  );
  return Promise.race([found, Bun.sleep(RESOLVE_LIMIT_MS).then(() => [])]);
}

/** `HOST:PORT` in lower case, with Steam's usual port when none is given. @throws {InvalidInput} for what is no address. */
function normalizeAddress(address: string): string {
  const trimmed = address.trim().toLowerCase();
  const complete = /:[0-9]+$/.test(trimmed) ? trimmed : `${trimmed}:${DEFAULT_PORT}`;
  checkAddress(complete);
  return complete;
}
