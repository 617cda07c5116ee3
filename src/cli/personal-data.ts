import type { Command } from 'commander';
import { openSoundStore } from '../../media/sound-store.ts';
import { NotFound } from '../domain/errors.ts';
import { pluralForm } from '../domain/text/plural.ts';
import { isPersonKnown, openPersonExport } from '../queries/personal-data/export.ts';
import { countLostTombstones } from '../queries/personal-data/tombstones.ts';
import { erasePlayer } from '../service/erase-player.ts';
import { confirm } from './confirm.ts';
import type { Context } from './context.ts';
import { loadSteamId } from './who.ts';

const RESTORE_FIRST = 'imports name them again, so restore it before you erase anybody';

/** `users export | erase`, also for players without an account. */
export function addPersonalDataCommands(users: Command, context: Context): void {
  users
    .command('export <id>')
    .description('print everything stored about a player as JSON; with or without an account')
    .action(async (id: string) => {
      const steamId64 = await loadSteamId(context, id);
      const { db, url: databaseUrl } = await context.database();
      const options = { actor: 'operator', now: new Date() } as const;
      const personExport = await openPersonExport({ databaseUrl, db }, steamId64, options);
      if (!personExport) throw nothingKept(id);
      const chunks = await Array.fromAsync(personExport.chunks).finally(personExport.close);
      context.output.print(Buffer.concat(chunks).toString());
    });
  users
    .command('erase <id>')
    .description(
      'delete the account and sound of a player, and take them out of the audit log; with or without an account',
    )
    .option('--penalties', 'also make their penalties anonymous, now and in every later import')
    .option('--yes', 'do not ask for confirmation')
    .action(async (id: string, options: { penalties?: boolean; yes?: boolean }) => {
      const steamId64 = await loadSteamId(context, id);
      const { db } = await context.database();
      const withPenalties = options.penalties === true;
      // Somebody about whom nothing is stored yet can be made anonymous in advance, for later imports.
      const isKnown = await isPersonKnown(db, steamId64);
      if (!isKnown && !withPenalties) throw nothingKept(id);
      // Warn before asking: this erasure uses another secret, and since only one can be kept, the old one cannot be
      // restored afterwards.
      const lostErasures = await countLostTombstones(db);
      if (lostErasures > 0) context.output.warn(describeLostErasures(lostErasures, RESTORE_FIRST));
      const what = withPenalties ? ' and make their penalties anonymous' : '';
      if (!options.yes) await confirm(`Erase ${steamId64}${what}? This cannot be undone.`);
      const sounds = await openSoundStore(context.config());
      const erased = await erasePlayer(db, sounds, { steamId64, withPenalties, actor: 'operator' });
      const penalties = pluralForm('en', erased.penalties, { one: 'penalty', other: 'penalties' });
      const words = withPenalties
        ? ` and made ${erased.penalties} ${penalties} anonymous`
        : '; their penalties stay';
      const message = isKnown
        ? `Erased ${steamId64}${words}`
        : `Nothing was kept about ${steamId64}; imports will keep them anonymous`;
      context.print({ erased: steamId64, ...erased, lostErasures }, message);
    });
}

function nothingKept(id: string): NotFound {
  return new NotFound(`Nothing is kept about ${JSON.stringify(id)}`);
}

/**
 * The warning that erased people are not recognised, because the secret that identifies them is lost.
 * @param whatFollows how this command can make it worse.
 */
export function describeLostErasures(count: number, whatFollows: string): string {
  const who = count === 1 ? '1 erased person is' : `${count} erased people are`;
  return (
    `warning: ${who} not recognised, since the secret that identifies them is lost: ` +
    `${whatFollows} (docs/privacy.md, "Erased people")`
  );
}
