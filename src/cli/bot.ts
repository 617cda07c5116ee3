import type { Command } from 'commander';
import { InvalidInput } from '../domain/errors.ts';
import type { Context } from './context.ts';

/** `bot register` and `invite`. Both import the bot when they run: discord.js would slow down every other command. */
export function addBotCommands(program: Command, context: Context): void {
  const bot = program.command('bot').description('the Discord bot');
  bot
    .command('register')
    .description('register the slash commands, in the guild of DISCORD_GUILD_ID or in every guild')
    .action(async () => {
      const { registerCommands } = await import('../../bot/commands/register.ts');
      const { rest, settings } = await openDiscord(context);
      const { guildId } = settings;
      const { db } = await context.database();
      const { commands, scope } = await registerCommands({ rest, db, guildId }, { isForced: true });
      const where = guildId === undefined ? 'globally' : `in guild ${scope}`;
      context.print({ commands, scope }, `Registered ${commands} commands ${where}`);
    });
  bot
    .command('invite')
    .description('print the address that adds the bot to a guild, with the permissions it needs')
    .action(async () => {
      const { findInvitation } = await import('../../bot/gateway/invitation.ts');
      const { rest, settings } = await openDiscord(context);
      const url = await findInvitation(rest, settings);
      context.print({ url }, url);
    });
}

/** @throws {InvalidInput} without `DISCORD_TOKEN`. */
async function openDiscord(context: Context) {
  const settings = context.config().discord;
  const { token, apiUrl } = settings;
  if (token === undefined) {
    throw new InvalidInput("DISCORD_TOKEN is not set: it is the token of the application's bot");
  }
  const { createRest } = await import('../../bot/gateway/rest.ts');
  return { rest: createRest({ apiUrl, token }), settings };
}
