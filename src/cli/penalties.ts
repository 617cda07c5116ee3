import type { Command } from 'commander';
import { PENALTY_SYSTEM_NAMES, SYSTEMS } from '../domain/systems.ts';
import { pluralForm } from '../domain/text/plural.ts';
import type { ImportSummary } from '../import/import-report.ts';
import type { ImportDeps, ImportOptions } from '../import/import-run.ts';
import { importNdjson } from '../import/ndjson/ndjson.ts';
import { importSource } from '../import/source-system.ts';
import { OPENERS } from '../import/systems.ts';
import { checkPenaltyTallies, type Recount, recountPenaltyTallies } from '../queries/penalties/recount.ts';
import type { Context } from './context.ts';
import { openNamedFile } from './named-file.ts';
import { addPenaltyListCommand } from './penalty-list.ts';
import { describeLostErasures } from './personal-data.ts';
import { showProgress } from './progress.ts';

/** How many warnings are printed; all of them are counted, and `--json` lists the first thousand. */
const WARNINGS_SHOWN = 20;

const MYSQL_FORM =
  'mysql://user:password@host/database, for TLS with ?ssl-mode=required|verify-ca|verify-identity&ssl-ca=PATH';

type Common = { dryRun?: boolean; source?: string; replaceSource?: boolean; acceptRemovals?: boolean };
type DatabaseOptions = Common & { url?: string; timezone?: string; prefix?: string; onlineTime?: boolean };
type Import = (deps: ImportDeps, options: ImportOptions) => Promise<ImportSummary>;

/** `penalties list`, `penalties import` of lines of JSON and of each system, `penalties recount`. */
export function addPenaltyCommands(program: Command, context: Context): void {
  const penalties = program.command('penalties').description('bans, mutes, gags, silences, warnings');
  addPenaltyListCommand(penalties, context);
  const imports = penalties
    .command('import')
    .description(
      'import penalties from elsewhere; repeating an import applies only what changed at the source',
    );
  const run = (options: Common, start: Import) => runImport(context, options, start);
  const importCommand = (name: string, description: string, source = name) =>
    imports
      .command(name)
      .description(description)
      .option('--dry-run', 'read and compare everything, write nothing')
      .option('--source <name>', `name of the source, to import several of one kind (default: ${source})`);
  importCommand(
    'ndjson <file>',
    'one JSON object a line from a file, or from standard input with -',
    'ndjson',
  )
    .option('--without-servers', 'import penalties without their servers: `server_id` is kept by default')
    .action(async (file: string, options: Common & { withoutServers?: boolean }) => {
      const input = file === '-' ? Bun.stdin : await openNamedFile(file);
      const totalBytes = file === '-' ? undefined : input.size;
      const { source, withoutServers } = options;
      await run(options, (deps, shared) =>
        importNdjson(deps, { ...shared, chunks: input.stream(), totalBytes, source, withoutServers }),
      );
    });
  for (const name of PENALTY_SYSTEM_NAMES) {
    const { title, databases, isZoned, prefix, recordsOnlineTime } = SYSTEMS[name];
    const setting = name.toUpperCase();
    const form = databases.includes('sqlite') ? `${MYSQL_FORM} or sqlite:PATH` : MYSQL_FORM;
    const command: Command = importCommand(name, `a database of ${title}`, `${setting}_SOURCE, else ${name}`)
      .option(
        '--replace-source',
        'treat this database as the one imported under this name so far, at a new address',
      )
      .option(
        '--accept-removals',
        'remove what the database no longer has, even if that is suddenly most of it',
      )
      .option('--url <url>', `${form} (default: ${setting}_URL)`);
    if (isZoned) {
      command.option(
        '--timezone <zone>',
        `the plugin's configured zone (default: ${setting}_TIMEZONE, else UTC); SQLite files are in UTC`,
      );
    }
    if (recordsOnlineTime) {
      command.option(
        '--online-time',
        'count down mutes by the minutes a player was online, where the plugin recorded them',
      );
    }
    if (prefix !== undefined) {
      const otherwise = `default: ${setting}_PREFIX, else ${prefix}`;
      command.option('--prefix <prefix>', `what its table names begin with (${otherwise})`);
    }
    command.action(async (options: DatabaseOptions) => {
      // The default source is the mirror's, so that one continues the other.
      const { url, source, onlineTime, ...rows } = { ...context.config().sources[name], ...options };
      if (url === undefined) command.error(`error: --url or ${setting}_URL is required`);
      const system = OPENERS[name]({ ...rows, trustsOnlineTime: onlineTime });
      await run(options, (deps, shared) => importSource(deps, system, { ...shared, url, source }));
    });
  }

  penalties
    .command('recount')
    .description('recount the totals that lists and pages use, after a database was loaded by hand')
    .option('--check', 'only check the totals; the exit code is 1 when any is wrong')
    .action(async ({ check = false }: { check?: boolean }) => {
      const { url } = await context.database();
      const recount = check ? await checkPenaltyTallies(url) : await recountPenaltyTallies(url);
      context.print(recount, describeRecount(recount, check));
      if (check && recount.wrong > 0) context.fail();
    });
}

/** Runs an import, shows its progress and prints a summary. */
async function runImport(
  context: Context,
  { dryRun = false, replaceSource = false, acceptRemovals = false }: Common,
  start: Import,
): Promise<void> {
  const { db, url } = await context.database();
  const progress = showProgress(context.output.progress, () => performance.now());
  let warnings = 0;
  const summary = await start(
    { db, databaseUrl: url, now: () => new Date(), actor: 'operator' },
    {
      isDryRun: dryRun,
      replacesSource: replaceSource,
      acceptsRemovals: acceptRemovals,
      onProgress: progress.update,
      onWait: () => progress.line('waiting for another import of this source to end'),
      onReport: (kind, { table, id, reason }) => {
        if (kind === 'warning') warnings += 1;
        if (kind === 'warning' && warnings > WARNINGS_SHOWN) return;
        const label = kind === 'outdated' ? 'set aside, stays as it was' : kind;
        progress.line(`${label}: ${table} ${id}: ${reason}`);
      },
    },
  ).finally(progress.end);
  if (summary.lostErasures > 0) {
    progress.line(describeLostErasures(summary.lostErasures, 'this import may name them again'));
  }
  context.print(summary, describe(summary));
  // Every row was set aside, removals were held back, or tables are missing: a script must not continue as if all had been imported.
  const isNothingImported = summary.read > 0 && summary.setAside === summary.read;
  const isIncomplete = summary.held > 0 || summary.missing.length > 0;
  if (isNothingImported || (isIncomplete && !dryRun)) context.fail();
}

function describeRecount({ tallies, wrong }: Recount, isCheck: boolean): string {
  if (!isCheck) return `${tallies} totals recounted, ${wrong} of them corrected`;
  if (wrong === 0) return `All ${tallies} totals are correct`;
  const are = pluralForm('en', wrong, { one: 'is', other: 'are' });
  return `${wrong} of ${tallies} totals ${are} wrong: run \`penalties recount\``;
}

function describe(summary: ImportSummary): string {
  const { source, isDryRun, read, added, changed, unchanged, gone, setAside, warnings, serversAdded } =
    summary;
  const lines = [
    `${isDryRun ? 'Would import' : 'Imported'} from ${source}: ${read} read, ${added} added, ${changed} changed, ` +
      `${unchanged} unchanged, ${gone} gone at the source, ${setAside} set aside`,
  ];
  if (summary.held > 0) {
    lines.push(
      `${summary.held} penalties are no longer at the source, suddenly most of a table: nothing ` +
        `${isDryRun ? 'would be' : 'was'} removed; --accept-removals removes them`,
    );
  }
  if (summary.missing.length > 0) {
    lines.push(
      `Missing, or not readable: ${summary.missing.join(', ')}; what came from there ${isDryRun ? 'would stay' : 'stays'} as it is, ` +
        'and --accept-removals removes it',
    );
  }
  if (summary.outdated > 0) {
    lines.push(
      `${summary.outdated} of the rows set aside could be read by an earlier import: their penalties stay as they were`,
    );
  }
  if (warnings > WARNINGS_SHOWN) lines.push(`${warnings} warnings (--json lists the first 1000)`);
  for (const { rows, assumption } of summary.assumptions) {
    lines.push(`${rows} ${pluralForm('en', rows, { one: 'row', other: 'rows' })} ${assumption}`);
  }
  for (const { id, address } of summary.serversMoved) {
    lines.push(
      `Server ${id} of the source ${isDryRun ? 'would be' : 'is'} now the one with the address ${address}`,
    );
  }
  if (serversAdded.length > 0) {
    lines.push(`${isDryRun ? 'Would add' : 'Added'} servers, hidden for now: ${serversAdded.join(', ')}`);
    if (!isDryRun) lines.push('List them with `servers unhide --all`, or one with `servers unhide SLUG`');
  }
  return lines.join('\n');
}
