import type { Command } from 'commander';
import { createRest, registerCommands } from '../../bot/register.ts';
import { InvalidInput } from '../errors.ts';
import { print, type Session } from './session.ts';

/** `bot register`. */
export function addBotCommands(program: Command, session: Session): void {
  const bot = program.command('bot').description('the Discord bot');
  bot
    .command('register')
    .description('put the slash commands to Discord, in the guild of DISCORD_GUILD_ID or everywhere')
    .action(async (_: unknown, command: Command) => {
      const { token, apiUrl, guildId } = session.config().discord;
      if (token === undefined) {
        throw new InvalidInput("DISCORD_TOKEN is not set: it is the token of the application's bot");
      }
      const { db } = await session.database();
      const registration = await registerCommands(
        { rest: createRest({ apiUrl, token }), db },
        { guildId, isForced: true },
      );
      const { commands, scope } = registration;
      const where = guildId === undefined ? 'globally' : `in guild ${scope}`;
      print(command, { commands, scope }, `Put ${commands} commands to Discord, ${where}`);
    });
}
