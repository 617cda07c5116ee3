import { InvalidInput } from '../../domain/errors.ts';
import { formatServerAddress } from '../../domain/server-address.ts';
import type { SourceKey } from '../../queries/penalties/imported.ts';
import type { PenaltySource } from '../../queries/penalties/sources.ts';
import type { ImportSummary } from '../import-report.ts';
import {
  type ImportDeps,
  type ImportOptions,
  type ImportRun,
  importPage,
  importPages,
  runImport,
} from '../import-run.ts';
import { matchSourceServers, type SourceServerTable } from '../servers.ts';
import { openSourceDatabase } from '../source/open-source.ts';
import type { SourceDatabase, SourceRow } from '../source/source-database.ts';
import { countSourceRows, findSourceTable, readSourcePages, type SourceTable } from '../source/tables.ts';
import { parseSourcebansRow, parseSourcebansState, type SourcebansRowOptions } from './rows.ts';
import { readComms } from './silences.ts';

const SOURCEBANS_SOURCE = 'sourcebans';

export type SourcebansOptions = ImportOptions & {
  /** `mysql://…`. */
  url: string;
  /** The prefix of the table names, `sb_` by default; `sb` means the same. */
  prefix?: string | undefined;
  /** Names the source when several are imported; `sourcebans` by default. */
  source?: string | undefined;
};

/**
 * Imports the bans and communication bans of a SourceBans++ database; a repeated import only writes what changed there.
 * A mute and a gag of the same player, time and length are one silence, unless only one of them is lifted.
 * @throws {InvalidInput} for an address, a prefix or a database of another kind.
 * @throws {Unavailable} when the source does not respond.
 */
export async function importSourcebans(
  deps: ImportDeps,
  { url, prefix = 'sb_', source = SOURCEBANS_SOURCE, ...options }: SourcebansOptions,
): Promise<ImportSummary> {
  if (!/^\w{0,32}$/.test(prefix)) {
    throw new InvalidInput(
      `prefix ${JSON.stringify(prefix)} isn't valid: use letters, digits and underscores`,
    );
  }
  const complete = withUnderscore(prefix);
  const database = await openSourceDatabase(url);
  try {
    const { address } = database;
    const identity: PenaltySource = { name: source, kind: 'sourcebans', address, prefix: complete };
    return await runImport(deps, identity, options, (run) => sweep(run, database, complete));
  } finally {
    await database.close();
  }
}

function withUnderscore(prefix: string): string {
  return prefix === '' || prefix.endsWith('_') ? prefix : `${prefix}_`;
}

async function sweep(run: ImportRun, database: SourceDatabase, prefix: string): Promise<void> {
  const bans = await findTable(database, prefix, 'bans');
  const comms = await findTable(database, prefix, 'comms');
  const tables = [bans, comms].filter((table) => table !== undefined);
  if (tables.length === 0) {
    throw new InvalidInput(`the source has neither ${prefix}bans nor ${prefix}comms: set its --prefix`);
  }
  const serverIds = await matchSourceServers(run, database, serverTable(prefix));
  const sized = { ...run, total: await countSourceRows(database, tables) };
  const options = { serverIds };
  if (bans) await importBans(sized, readSourcePages(database, bans, { key: 'bid' }), options);
  if (comms) await importComms(sized, readComms(database, comms), options);
  run.summary.gone = await run.writer.markGone(
    [bans && 'bans', comms && 'comms'].filter((name) => name !== undefined),
    run.now(),
  );
}

async function importBans(
  run: ImportRun,
  pages: AsyncIterable<SourceRow[]>,
  options: SourcebansRowOptions,
): Promise<void> {
  await importPages(run, pages, {
    table: 'bans',
    idsOf: (row) => [row.bid ?? ''],
    parse: (row, report) => parseSourcebansRow('bans', [row], { ...options, ...report }),
    parseState: parseSourcebansState,
  });
}

async function importComms(
  run: ImportRun,
  pages: AsyncIterable<SourceRow[][]>,
  options: SourcebansRowOptions,
): Promise<void> {
  for await (const page of pages) {
    // A half that was a penalty of its own (when only one was lifted) is now part of the other row.
    const merged: SourceKey[] = [];
    await importPage(run, page, {
      table: 'comms',
      idsOf: (rows) => rows.map(({ bid }) => bid ?? ''),
      parse: (rows, report) => {
        const penalty = parseSourcebansRow('comms', rows, { ...options, ...report });
        const [, half] = rows;
        if (half) merged.push({ sourceTable: 'comms', sourceId: half.bid ?? '' });
        return penalty;
      },
      parseState: ([row = {}]) => parseSourcebansState(row),
    });
    await run.writer.deleteMerged(merged);
  }
}

const NEEDED = ['bid', 'authid', 'created', 'length'];
const WANTED = [
  'name',
  'ends',
  'reason',
  'aid',
  'sid',
  'type',
  'removedby',
  'removetype',
  'removedon',
  'ureason',
];

async function findTable(
  database: SourceDatabase,
  prefix: string,
  kind: 'bans' | 'comms',
): Promise<SourceTable | undefined> {
  const table = await findSourceTable(database, `${prefix}${kind}`, { needed: NEEDED, wanted: WANTED });
  if (!table) return undefined;
  const { columns } = table;
  const admins = `${prefix}admins`;
  const hasAdmins = columns.has('aid') && (await database.listColumns(admins)).has('authid');
  if (!hasAdmins) return table;
  const selected = [...table.selected, 'a.user as admin_name', 'a.authid as admin_authid'];
  const joins = [`left join ${admins} a on a.aid = p.aid`];
  if (columns.has('removedby')) {
    selected.push('l.user as lifter_name', 'l.authid as lifter_authid');
    joins.push(`left join ${admins} l on l.aid = p.removedby`);
  }
  return { ...table, selected, joins };
}

function serverTable(prefix: string): SourceServerTable {
  return {
    name: `${prefix}servers`,
    needed: ['sid', 'ip', 'port'],
    wanted: [],
    // Server 0 stands for bans made on the web panel.
    condition: 'p.sid > 0',
    toServer: ({ sid, ip, port }) => {
      const address = formatServerAddress({ host: ip ?? '', port: port ?? '' });
      return { sourceServerId: sid ?? '', name: null, address };
    },
  };
}
