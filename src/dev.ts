import { startEmbeddedPostgres } from './db/embedded/cluster.ts';
import { DomainError } from './domain/errors.ts';
import { parseConfig } from './runtime/config.ts';
import { createLogger } from './runtime/log.ts';

/**
 * `bun run dev`: the service, restarted when a file changes. This process keeps the embedded database running and stops
 * it at Ctrl-C: a service that is being restarted, or does not even compile, cannot. It runs with
 * `--no-env-file`: the service would inherit what it read from `.env`, and prefer that to the edited file.
 */
let service: Bun.Subprocess | undefined;
let isStopping = false;
// The terminal sends Ctrl-C to the service as well; other signals may not reach it. Receiving one twice does no harm.
for (const name of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(name, () => {
    isStopping = true;
    service?.kill(name);
  });
}

try {
  const { databaseUrl, dataDir, logLevel } = parseConfig(await readVariables());
  const embedded =
    databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir, log: createLogger(logLevel) })
      : undefined;
  if (!isStopping) {
    service = Bun.spawn([process.execPath, '--watch', 'src/main.ts'], {
      stdio: ['inherit', 'inherit', 'inherit'],
    });
  }
  const code = await service?.exited;
  await embedded?.stop();
  process.exit(code ?? 0);
} catch (error) {
  if (!(error instanceof DomainError)) throw error;
  console.error(error.message);
  process.exit(1);
}

/** The environment as the service has it, with the variables of `.env` files: read by another process of Bun. */
async function readVariables(): Promise<Record<string, string>> {
  return Bun.$`${process.execPath} --print ${'JSON.stringify(process.env)'}`.json();
}
