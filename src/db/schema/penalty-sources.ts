import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';
import { servers } from './servers.ts';

/** The systems that penalties are imported from. */
export const PENALTY_SOURCE_KINDS = ['simpleadmin', 'sourcebans', 'iks', 'ndjson'] as const;

/** What each `penalties.source` was imported from, so that no other database overwrites its rows; no credentials. */
export const penaltySources = pgTable('penalty_sources', {
  name: text('name').primaryKey(),
  kind: text('kind', { enum: PENALTY_SOURCE_KINDS }).notNull(),
  /** `host:port/database`, or the path of a file; `''` for lines of JSON. */
  address: text('address').notNull(),
  /** What the names of its tables begin with, where that differs. */
  prefix: text('prefix').notNull().default(''),
  /** When an import of it was first completed; until then its penalties cause no notifications. */
  completedAt: instant('completed_at'),
});

/** Ids that a penalty source uses for one of our servers. */
export const serverAliases = pgTable(
  'server_aliases',
  {
    source: text('source').notNull(),
    sourceServerId: text('source_server_id').notNull(),
    serverId: integer('server_id')
      .notNull()
      .references(() => servers.id, { onDelete: 'cascade' }),
  },
  (table) => [primaryKey({ columns: [table.source, table.sourceServerId] })],
);
