import { existsSync } from 'node:fs';
import type { Command } from 'commander';
import { openSoundStore } from '../../media/sound-store.ts';
import type { Manifest } from '../backup/archive.ts';
import { restoreBackup } from '../backup/restore-backup.ts';
import { writeBackup } from '../backup/write-backup.ts';
import { InvalidInput } from '../domain/errors.ts';
import { pluralForm } from '../domain/text/plural.ts';
import { parsePostgresAddress } from '../runtime/database-address.ts';
import { requireNoRestore } from '../runtime/folder.ts';
import { confirm } from './confirm.ts';
import type { Context } from './context.ts';
import { showProgress } from './progress.ts';
import { describeMoment } from './table.ts';

/** The exit code of a backup that was made without some sounds. */
const INCOMPLETE = 3;

/** `backup` and `restore`: the database and the sounds in one file. */
export function addBackupCommands(program: Command, context: Context): void {
  program
    .command('backup <file>')
    .description(
      'back up database and sounds, as of one moment, into a file (.tar.gz); it contains secrets, so only you may read it',
    )
    .action(async (file: string) => {
      if (file === '') throw new InvalidInput('The name of the file is empty');
      if (existsSync(file)) throw new InvalidInput(`${file} already exists: choose another name`);
      requireNoRestore(context.config().storageDir);
      const { url } = await context.address();
      const sounds = await openSoundStore(context.config());
      const progress = showProgress(context.output.progress, () => performance.now());
      const work = writeBackup(
        file,
        { databaseUrl: url, sounds },
        { onProgress: progress.update, signal: context.signal },
      );
      const report = await context.waitFor(work).finally(progress.end);
      const { lost, isRecorded } = report;
      if (!isRecorded)
        context.output.warn(
          'warning: /readyz and /metrics will not show this backup: the database stores nothing',
        );
      for (const { name, reason } of lost)
        context.output.warn(`warning: ${name} ${reason}: its sound is left out`);
      context.print({ ...toJson(report), lost }, `Wrote ${file}, ${describe(report)}`);
      if (lost.length > 0) context.fail(INCOMPLETE);
    });
  program
    .command('restore <file>')
    .description('restore a backup into an empty database; the service has to be stopped')
    .option('--replace', 'restore into a database that is not empty: everything in it is lost')
    .option('--yes', 'do not ask for confirmation')
    .action(async (file: string, options: { replace?: boolean; yes?: boolean }) => {
      if (options.yes && !options.replace) throw new InvalidInput('--yes requires --replace');
      const { url } = await context.address();
      const sounds = await openSoundStore(context.config());
      const progress = showProgress(context.output.progress, () => performance.now());
      const ask = async (contents: string, { takenAt }: Manifest) => {
        progress.end();
        if (options.yes) return;
        const { server, database } = parsePostgresAddress(url, 'DATABASE_URL');
        await confirm(
          `Replace everything in ${server}/${database} (${contents}) and its sounds with the backup of ${describeMoment(new Date(takenAt))}? This cannot be undone.`,
        );
      };
      const work = restoreBackup(
        file,
        { databaseUrl: url, sounds },
        {
          log: context.log(),
          confirmLoss: options.replace ? ask : undefined,
          onStep: (step) => progress.line(step === 'checking' ? `checking ${file}` : 'restoring'),
          onProgress: progress.share,
          signal: context.signal,
        },
      );
      const report = await context.waitFor(work).finally(progress.end);
      const { wrongTotals, erasedAgain, erasedSince } = report;
      if (wrongTotals > 0) {
        const totals = pluralForm('en', wrongTotals, { one: 'total', other: 'totals' });
        context.output.warn(
          `warning: the backup had ${wrongTotals} wrong ${totals} of penalties, now corrected`,
        );
      }
      if (erasedAgain > 0)
        context.output.warn(
          `erased again, because they were erased here after this backup was made: ${erasedAgain}`,
        );
      if (erasedSince > 0) {
        context.output.warn(
          `warning: erased here after this backup was made, and no longer recognised: ${erasedSince}; erase them again if they are in it`,
        );
      }
      context.print(
        { ...toJson(report), wrongTotals, erasedAgain, erasedSince },
        `Restored ${file}, ${describe(report)}`,
      );
    });
}

const countSounds = ({ entries }: Manifest) =>
  entries.filter(({ name }) => name.startsWith('sounds/')).length;

function describe(manifest: Manifest): string {
  const { takenAt, tables } = manifest;
  const rows = tables.reduce((sum, table) => sum + table.rows, 0);
  const sounds = countSounds(manifest);
  const files = pluralForm('en', sounds, { one: 'sound file', other: 'sound files' });
  return `as of ${describeMoment(new Date(takenAt))}: ${rows} rows of ${tables.length} tables, ${sounds} ${files}`;
}

function toJson(manifest: Manifest) {
  const { takenAt, productVersion, postgresVersion, migrations, tables } = manifest;
  const schema = migrations.length;
  return { takenAt, productVersion, postgresVersion, schema, tables, soundFiles: countSounds(manifest) };
}
