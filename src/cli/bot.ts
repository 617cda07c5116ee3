import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import { print } from './output/print.ts';
import type { Session } from './session.ts';

/** `bot register`. */
export function addBotCommands(program: Command, session: Session): void {
  const bot = program.command('bot').description('the Discord bot');
  bot
    .command('register')
    .description('register the slash commands, in the guild of DISCORD_GUILD_ID or in every guild')
    .action(async (_: unknown, command: Command) => {
      const { token, apiUrl, guildId } = session.config().discord;
      if (token === undefined) {
        throw new InvalidInput("DISCORD_TOKEN is not set: it is the token of the application's bot");
      }
      // Imported here, because loading discord.js would slow down every other command.
      const { registerCommands } = await import('../../bot/register.ts');
      const { createRest } = await import('../../bot/rest.ts');
      const { db } = await session.database();
      const registration = await registerCommands(
        { rest: createRest({ apiUrl, token }), db },
        { guildId, isForced: true },
      );
      const { commands, scope } = registration;
      const where = guildId === undefined ? 'globally' : `in guild ${scope}`;
      print(command, { commands, scope }, `Registered ${commands} commands ${where}`);
    });
}
