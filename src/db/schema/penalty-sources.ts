import { integer, pgTable, primaryKey, text } from 'drizzle-orm/pg-core';
import { instant } from './columns.ts';
import { servers } from './servers.ts';

/** The systems that penalties are imported from. */
export const PENALTY_SOURCE_KINDS = ['simpleadmin', 'sourcebans', 'iks', 'ndjson'] as const;

/** The origin of each `penalties.source`, so that another database does not overwrite its rows; no credentials. */
export const penaltySources = pgTable('penalty_sources', {
  name: text('name').primaryKey(),
  kind: text('kind', { enum: PENALTY_SOURCE_KINDS }).notNull(),
  /** `host:port/database`, or the path of a file; `''` for lines of JSON. */
  address: text('address').notNull(),
  /** The prefix of its table names, for sources that have one. */
  prefix: text('prefix').notNull().default(''),
  /** When its first import was completed; until then its penalties cause no notifications. */
  completedAt: instant('completed_at'),
});

/** The ids that a penalty source uses for one of our servers. */
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
