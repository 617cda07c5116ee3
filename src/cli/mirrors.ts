import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import { FLAG_SYSTEMS } from '../domain/systems.ts';
import { pluralForm } from '../domain/text/plural.ts';
import { acceptHeldRemovals } from '../queries/held-removals.ts';
import type { Context } from './context.ts';

/** `mirrors accept`. */
export function addMirrorCommands(program: Command, context: Context): void {
  program
    .command('mirrors')
    .description('mirrored systems, whose penalties and flags the service follows')
    .command('accept <name>')
    .description(
      `carry out the removals that are held back, in the next round of a system: ${FLAG_SYSTEMS.join(', ')}`,
    )
    .action(async (name: string) => {
      const system = FLAG_SYSTEMS.find((each) => each === name);
      if (!system) {
        throw new InvalidInput(
          `the name ${JSON.stringify(name)} is not known: use ${FLAG_SYSTEMS.join(', ')}`,
        );
      }
      const { db } = await context.database();
      const accepted = await acceptHeldRemovals(db, system, 'operator');
      const list = Object.entries(accepted).map(([what, removals]) =>
        what === 'tables'
          ? pluralForm('en', removals, { one: '1 whole table', other: `${removals} whole tables` })
          : `${removals} of ${what}`,
      );
      context.print(
        accepted,
        `The next round of ${system} removes what it lacks then, now ${list.join(', ')}`,
      );
    });
}
