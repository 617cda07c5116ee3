import { join } from 'node:path';
import packageJson from '../../../package.json';
import { openDatabase } from '../../../src/db/database.ts';
import { migrateDatabase } from '../../../src/db/migrate.ts';
import { penalties } from '../../../src/db/schema/penalties.ts';
import { serverSnapshots } from '../../../src/db/schema/servers.ts';
import { createApiToken } from '../../../src/queries/users/api-tokens.ts';
import { saveUser } from '../../../src/queries/users/user-changes.ts';
import { aPenalty, aSteamId, insertServer } from '../../support/database/builders.ts';

/** `bun start`, whose shell becomes the service. */
export const START_COMMAND = ['sh', '-c', `exec ${packageJson.scripts.start}`];
const SERVERS = 20;

/** The service's environment: API alone, limits nobody reaches; without an address the embedded database of the folder. */
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

/** Twenty polled servers, ten thousand penalties, sixty of them of one player, and a token. */
export async function fillDatabase(url: string): Promise<{ token: string; player: string }> {
  await migrateDatabase(url);
  const { db, close } = openDatabase(url);
  for (let number = 1; number <= SERVERS; number++) {
    const server = await insertServer(db, { name: `Only Mirage #${number}` });
    const players = Array.from({ length: number % 10 }, (_, i) => ({ name: `Gracz ${i}`, score: 20 - i }));
    await db.insert(serverSnapshots).values({
      serverId: server.id,
      isOnline: true,
      hostname: `Only Mirage | ${number}`,
      map: 'de_mirage',
      players,
      playersCount: players.length,
      maxPlayers: 10,
      pingMs: 12,
      polledAt: new Date(),
    });
  }
  const createdAt = (i: number) => new Date(Date.UTC(2026, 0, 1) + i * 60_000);
  const rows = Array.from({ length: 10_000 }, (_, i) =>
    aPenalty({
      playerSteamId: aSteamId(i < 60 ? 1 : 2 + (i % 2000)),
      createdAt: createdAt((i * 37) % 10_000),
    }),
  );
  for (let i = 0; i < rows.length; i += 1000) await db.insert(penalties).values(rows.slice(i, i + 1000));
  await db.execute('vacuum analyze');
  const owner = await saveUser(db, aSteamId(900), { actor: 'operator' });
  const { token } = await createApiToken(db, owner.id, { name: 'bench', now: new Date(), actor: 'operator' });
  await close();
  return { token, player: aSteamId(1) };
}
