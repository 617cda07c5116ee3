import { createHealthApi } from '../../api/app.ts';
import type { HealthDeps } from '../../api/health.ts';
import { namesLoopback } from '../../api/http/host.ts';
import packageJson from '../../package.json';
import { hasErrorCode } from '../domain/errors.ts';
import { findLastBackup } from '../queries/settings.ts';
import { findCommit } from '../runtime/commit.ts';
import { withTimeLimit } from '../runtime/time-limit.ts';
import type { Context } from './context.ts';
import { serve } from './listening.ts';

/** Read once: a checkout may change while the process runs. Undefined for an archive, which has none. */
export const COMMIT = findCommit();
/** No request needs a body. */
const MAX_BODY_BYTES = 1024;
const DATABASE_LIMIT_MS = 1000;

/**
 * Health and metrics of a process without the role `api`, on `HEALTH_PORT`.
 * @returns the port; undefined when it is not set and another process has the default one.
 */
export function startHealth(context: Context): number | undefined {
  const { config, log } = context;
  const app = createHealthApi({ log, health: createHealthDeps(context) });
  const options = { setting: 'HEALTH_PORT', port: config.healthPort, maxBodyBytes: MAX_BODY_BYTES } as const;
  try {
    const port = serve(context, app, options);
    log.info({ host: config.host, port }, 'health server listening');
    return port;
  } catch (error) {
    if (config.isHealthPortSet || !hasErrorCode(error, ['EADDRINUSE'])) throw error;
    log.warn(
      `port ${options.port} is taken: health and metrics are not served; set HEALTH_PORT to another one`,
    );
    return undefined;
  }
}

/** How often a process looks whether a backup was made. */
const BACKUP_CHECK_MS = 60_000;

/** Reports in `/readyz` and `/metrics` when the last backup was made. */
export function reportBackups({ database, health, metrics, repeat }: Context): void {
  let last: Awaited<ReturnType<typeof findLastBackup>>;
  repeat({
    name: 'looking for the last backup',
    everyMs: BACKUP_CHECK_MS,
    work: async () => {
      last = await findLastBackup(database.db);
    },
  });
  health.set('backup', () => last);
  metrics.addGauges(
    'last_backup_timestamp_seconds',
    'When the last backup was made; absent without one.',
    () => (last ? [{ labels: {}, value: Date.parse(last.at) / 1000 }] : []),
  );
  metrics.addGauges('last_backup_bytes', 'The size of the last backup.', () =>
    last ? [{ labels: {}, value: last.bytes }] : [],
  );
}

/** What `/readyz` and `/metrics` need, in every process alike. */
export function createHealthDeps({ config, database, metrics, health, isStopping }: Context): HealthDeps {
  /** One query at a time: anybody may ask, and while the database hangs they would pile up. */
  let asking: Promise<unknown> | undefined;
  const isReachable = () => {
    asking ??= database.ping().finally(() => {
      asking = undefined;
    });
    return withTimeLimit(asking, DATABASE_LIMIT_MS).then(
      () => true,
      () => false,
    );
  };
  return {
    metrics,
    metricsAllow: config.metricsAllow,
    isLocal: namesLoopback(new URL(config.publicUrl).hostname),
    readiness: async () => {
      const isUp = await isReachable();
      const parts = Object.fromEntries([...health].map(([name, read]) => [name, read()]));
      return {
        // Load balancers send new requests to another process; those that still arrive are served.
        isReady: isUp && !isStopping(),
        parts: {
          version: packageJson.version,
          commit: COMMIT,
          database: isUp ? 'up' : 'down',
          ...(isStopping() && { service: 'stopping' }),
          ...parts,
        },
      };
    },
  };
}
