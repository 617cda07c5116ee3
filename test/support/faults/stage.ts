import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type DatabaseProxy, startDatabaseProxy } from '../database/database-proxy.ts';
import { type PostgresServer, startReplicatedPostgres } from '../database/replicated-postgres.ts';
import { findFreePort } from '../machine/free-port.ts';
import { mountSmallDisk, type SmallDisk } from '../machine/small-disk.ts';
import { startSteamOpenIdProvider } from '../providers/steam-openid-provider.ts';
import { createTestFolder, type Program, serviceEnv, startProgram } from '../service/program.ts';
import { type RedisServer, startRedisServer } from './redis-server.ts';

/** The whole service as a process, and everything that it stands on, each of which may be taken away. */
export type Stage = {
  origin: string;
  steam: ReturnType<typeof startSteamOpenIdProvider>;
  postgres: PostgresServer;
  /** Between the service and PostgreSQL. */
  postgresLink: DatabaseProxy;
  /** Where PostgreSQL's files lie; it may be filled. */
  postgresDisk: SmallDisk;
  /** Undefined where there is no Redis. */
  redis: (RedisServer & { link: DatabaseProxy }) | undefined;
  service: {
    pid: () => number;
    /** Starts it, and waits until it listens. */
    start: (env?: Record<string, string>) => Promise<void>;
    end: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>;
  };
};

const POSTGRES_DISK_BYTES = 400 * 1024 * 1024;

export async function setStage(): Promise<Stage> {
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
  const service: Stage['service'] = {
    pid: () => program?.pid ?? 0,
    start: async (env = {}) => {
      program = startProgram('src/main.ts', { ...settings, ...env });
      await program.waitFor('HTTP server listening');
    },
    end: async (signal) => {
      program?.kill(signal);
      await program?.exited;
    },
  };
  await service.start();
  return { origin, steam, postgres, postgresLink, postgresDisk, redis, service };
}
