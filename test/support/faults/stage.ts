import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { startDatabaseProxy } from '../database/database-proxy.ts';
import { startReplicatedPostgres } from '../database/replicated-postgres.ts';
import { findFreePort } from '../machine/free-port.ts';
import { mountSmallDisk } from '../machine/small-disk.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { createTestFolder, type Program, serviceEnv, startProgram } from '../service/program.ts';
import { startRedisServer } from './redis-server.ts';

export type Stage = Awaited<ReturnType<typeof setStage>>;

const POSTGRES_DISK_BYTES = 400 * 1024 * 1024;

/** The whole service as a process, and everything that it stands on, each of which may be taken away. */
export async function setStage() {
  const folder = createTestFolder();
  await Bun.$`chmod 755 ${folder}`;
  const postgresDisk = await mountSmallDisk(join(folder, 'postgres'), POSTGRES_DISK_BYTES);
  const { primary: postgres } = await startReplicatedPostgres({ replicas: 0, parent: postgresDisk.path });
  const postgresLink = await startDatabaseProxy(postgres.url);
  const redisServer = await startRedisServer();
  const redis = redisServer && { ...redisServer, link: await startDatabaseProxy(redisServer.url) };
  const steam = startSteamOpenIdProvider();
  const port = findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  await mkdir(join(folder, 'data'));
  const settings = serviceEnv(join(folder, 'data'), postgresLink.url, {
    ...(redis && { REDIS_URL: redis.link.url }),
    PORT: String(port),
    PUBLIC_URL: origin,
    STEAM_OPENID_URL: steam.url,
    ROLES: 'api,media',
    RATE_LIMIT_PUBLIC: '1000000',
    RATE_LIMIT_PROTECTED: '1000000',
  });
  let program: Program | undefined;
  const service = {
    pid: () => program?.pid ?? 0,
    /** Starts it, and waits until it listens. */
    start: async (env: Record<string, string> = {}) => {
      program = startProgram('src/main.ts', { ...settings, ...env });
      await program.waitFor('HTTP server listening');
    },
    end: async (signal: 'SIGKILL' | 'SIGTERM') => {
      program?.kill(signal);
      await program?.exited;
    },
  };
  await service.start();
  return {
    origin,
    steam,
    postgres,
    /** Between the service and PostgreSQL. */
    postgresLink,
    /** Where PostgreSQL's files lie; it may be filled. */
    postgresDisk,
    /** Undefined where there is no Redis. */
    redis,
    service,
  };
}
