import { fileURLToPath } from 'node:url';
import { drizzle } from 'drizzle-orm/postgres-js';
import { migrate } from 'drizzle-orm/postgres-js/migrator';
import { connect } from './client.ts';

const MIGRATIONS_FOLDER = fileURLToPath(new URL('./migrations', import.meta.url));
/** Drizzle takes no lock of its own: two processes that start together would both migrate. */
const MIGRATION_LOCK = 727_002;

/** Brings the database to the newest schema; copies that start together wait for one another. */
export async function migrateDatabase(url: string): Promise<void> {
  const connection = connect(url, { max: 1, applicationName: 'migrate', statementTimeoutMs: 0 });
  try {
    await connection`select pg_advisory_lock(${MIGRATION_LOCK})`;
    await migrate(drizzle(connection), { migrationsFolder: MIGRATIONS_FOLDER });
  } finally {
    await connection.end({ timeout: 5 });
  }
}
