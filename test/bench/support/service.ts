import { join } from 'node:path';
import packageJson from '../../../package.json';
import type { Db } from '../../../src/db/client.ts';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aSteamId, insertPenalties, insertServer, saveServerPoll } from '../../support/database/builders.ts';

/** `bun start`, whose shell becomes the service. */
export const START_COMMAND = ['sh', '-c', `exec ${packageJson.scripts.start}`];
const SERVERS = 20;
const PENALTIES = 10_000;

/** The service's environment: only the API, limits nobody reaches; without an address the embedded database of the folder. */
export function serviceEnv(databaseUrl: string | undefined, folder: string): Record<string, string> {
  return {
    ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
    DATA_DIR: folder,
    STORAGE_DIR: join(folder, 'storage'),
    HOST: '127.0.0.1',
    PORT: '0',
    ROLES: 'api',
    RATE_LIMIT_PUBLIC: '1000000000',
    RATE_LIMIT_PROTECTED: '1000000000',
  };
}

/**
 * Twenty servers `s1` to `s20` with a snapshot, ten thousand penalties, sixty of them of one player, and a token.
 * @param addresses of the servers, for a service that polls.
 */
export async function fillDatabase(
  url: string,
  addresses: readonly string[] = [],
): Promise<{ token: string; player: string }> {
  await migrateDatabase(url);
  const { db, close } = openDatabase(url);
  for (let number = 1; number <= SERVERS; number++) {
    const address = addresses[number - 1];
    const server = await insertServer(db, {
      name: `Only Mirage #${number}`,
      slug: `s${number}`,
      ...(address !== undefined && { address }),
    });
    const players = Array.from({ length: number % 10 }, (_, i) => ({ name: `Gracz ${i}`, score: 20 - i }));
    const state = {
      hostname: `Only Mirage | ${number}`,
      map: 'de_mirage',
      players,
      playersCount: players.length,
      maxPlayers: 10,
      pingMs: 12,
    };
    await saveServerPoll(db, server.id, { state, polledAt: new Date() });
  }
  const startMs = Date.UTC(2026, 0, 1);
  for (let from = 0; from < PENALTIES; from += 1000) {
    await insertPenalties(
      db,
      Array.from({ length: 1000 }, (_, i) => ({
        playerSteamId: aSteamId(from + i < 60 ? 1 : 2 + (i % 2000)),
        createdAt: new Date(startMs + (((from + i) * 37) % PENALTIES) * 60_000),
      })),
    );
  }
  await db.execute('vacuum analyze');
  const token = await createOwnerToken(db);
  await close();
  return { token, player: aSteamId(1) };
}

/** A token of {@link aSteamId} of this number, who is created if there is none. It ends after two hours. */
export async function createOwnerToken(db: Db, number = 900): Promise<string> {
  const owner = await saveUser(db, aSteamId(number), { actor: 'operator' });
  const now = new Date();
  const { token } = await createApiToken(db, owner.id, {
    name: `bench ${now.getTime()}`,
    expiresAt: new Date(now.getTime() + 2 * 3_600_000),
    now,
    actor: 'operator',
  });
  return token;
}
