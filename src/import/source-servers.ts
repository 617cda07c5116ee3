import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { eq } from 'drizzle-orm';
import type { Db } from '../db/client.ts';
import { serverAliases, servers } from '../db/schema.ts';
import { addServer, checkAddress } from '../queries/servers.ts';
import { hasVisibleCharacter } from '../visible-text.ts';
import { cleanText, LONGEST_NAME } from './clean-text.ts';

/** A game server as a source knows it. */
export type SourceServer = { sourceServerId: string; name: string | null; address: string };

const DEFAULT_PORT = 27_015;

/**
 * Finds our server for each server of a source, by its address (a host name of ours also by what it resolves to), and
 * remembers the pair: several ids of a source may mean one server of ours. A server we do not have is made, hidden until an operator shows it. A pair once known stays,
 * so that an operator may change it.
 * @returns our id by the source's id, and the names of the servers made. A dry run makes none: their id is then -1.
 */
export async function matchSourceServers(
  db: Db,
  source: string,
  sourceServers: readonly SourceServer[],
  { isDryRun }: { isDryRun: boolean },
): Promise<{ serverIds: Map<string, number>; added: string[] }> {
  const known = await db.select().from(serverAliases).where(eq(serverAliases.source, source));
  const serverIds = new Map(known.map((alias) => [alias.sourceServerId, alias.serverId]));
  const added: string[] = [];
  let ours: Map<string, number> | undefined;
  for (const sourceServer of sourceServers) {
    if (serverIds.has(sourceServer.sourceServerId)) continue;
    const serverId = await matchOne(sourceServer);
    if (serverId === undefined) continue;
    serverIds.set(sourceServer.sourceServerId, serverId);
    if (isDryRun) continue;
    await db
      .insert(serverAliases)
      .values({ source, sourceServerId: sourceServer.sourceServerId, serverId })
      .onConflictDoNothing();
  }
  return { serverIds, added };

  async function matchOne({ name, address }: SourceServer): Promise<number | undefined> {
    const normal = normalizeAddress(address);
    if (normal === undefined) return undefined;
    ours ??= await listOurAddresses(db);
    const known = ours.get(normal);
    if (known !== undefined) return known;
    const given = cleanText(name, LONGEST_NAME);
    const label = hasVisibleCharacter(given) ? given : normal;
    added.push(label);
    if (isDryRun) return -1;
    const { id } = await addServer(db, { name: label, address: normal, isHidden: true });
    ours.set(normal, id);
    return id;
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

/** `HOST:PORT` in lower case, with Steam's usual port when none is given; undefined for what is no address. */
function normalizeAddress(address: string): string | undefined {
  const trimmed = address.trim().toLowerCase();
  const complete = /:[0-9]+$/.test(trimmed) ? trimmed : `${trimmed}:${DEFAULT_PORT}`;
  try {
    checkAddress(complete);
    return complete;
  } catch {
    return undefined;
  }
}
