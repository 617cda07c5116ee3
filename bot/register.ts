import { createHash } from 'node:crypto';
import { DiscordAPIError, REST } from '@discordjs/rest';
import { ApplicationIntegrationType, InteractionContextType, RESTJSONErrorCodes, Routes } from 'discord.js';
import type { Db } from '../src/db/client.ts';
import { InvalidInput, Unavailable } from '../src/errors.ts';
import { findSetting, saveSetting } from '../src/queries/settings.ts';
import type { Command } from './command.ts';
import { COMMAND_DEFINITIONS } from './commands/commands.ts';
import { isDiscordError } from './discord-error.ts';

type Options = {
  /** Commands of this guild only, at once; undefined: global ones. */
  guildId: string | undefined;
  /** Puts them even if nothing changed. */
  isForced?: boolean;
};

export type Registration = {
  isChanged: boolean;
  commands: number;
  scope: string;
  /** Anybody may add the application to a guild of his own, and be a moderator there. */
  isOpenToAll: boolean;
};

/** What was put last: `applicationId`, `scope` and the hash of the definitions. */
const SETTING = 'discord_commands';
const GLOBAL = 'global';

/** REST with our limits; `apiUrl` is `DISCORD_API_URL`. */
export function createRest({ apiUrl, token }: { apiUrl: string; token: string }): REST {
  return new REST({ api: apiUrl, version: '10', timeout: 10_000, retries: 2 }).setToken(token);
}

/**
 * Puts the commands to Discord in one bulk overwrite, if their definition changed since the last time.
 * Commands of the other scope (global, guild) that were put before are taken away, lest each shows twice.
 * @throws {InvalidInput} when Discord refuses, {Unavailable} when it cannot be reached.
 */
export async function registerCommands(
  { rest, db }: { rest: REST; db: Db },
  { guildId, isForced = false }: Options,
): Promise<Registration> {
  try {
    const { applicationId, isOpenToAll } = await readApplication(rest);
    const definitions = COMMAND_DEFINITIONS.map((definition) =>
      guildId === undefined ? withContexts(definition) : definition,
    );
    const scope = guildId ?? GLOBAL;
    const wanted = [applicationId, scope, hashOf(definitions)].join(' ');
    const known = (await findSetting(db, SETTING)) ?? '';
    if (known === wanted && !isForced)
      return { isChanged: false, commands: definitions.length, scope, isOpenToAll };
    await removeOtherScope(rest, known, { applicationId, scope });
    await rest.put(routeOf(applicationId, scope), { body: definitions });
    await saveSetting(db, SETTING, wanted);
    return { isChanged: true, commands: definitions.length, scope, isOpenToAll };
  } catch (error) {
    throw explain(error);
  }
}

async function readApplication(rest: REST): Promise<{ applicationId: string; isOpenToAll: boolean }> {
  const application = await rest.get(Routes.currentApplication());
  if (typeof application !== 'object' || application === null || !('id' in application)) {
    throw new Unavailable('Discord did not tell the id of the application');
  }
  return {
    applicationId: String(application.id),
    isOpenToAll: 'bot_public' in application && application.bot_public === true,
  };
}

async function removeOtherScope(
  rest: REST,
  known: string,
  { applicationId, scope }: { applicationId: string; scope: string },
): Promise<void> {
  const [knownApplication, knownScope] = known.split(' ');
  if (knownApplication !== applicationId || knownScope === undefined || knownScope === scope) return;
  await rest.put(routeOf(applicationId, knownScope), { body: [] }).catch((error) => {
    // The bot may have left that guild: then there is nothing to take away.
    if (!(error instanceof DiscordAPIError && (error.status === 403 || error.status === 404))) throw error;
  });
}

function routeOf(applicationId: string, scope: string): `/${string}` {
  return scope === GLOBAL
    ? Routes.applicationCommands(applicationId)
    : Routes.applicationGuildCommands(applicationId, scope);
}

/** Guilds and the bot's own direct messages, for apps installed to a guild; global commands alone take this. */
function withContexts(definition: Command['data']) {
  const isForMembers = 'default_member_permissions' in definition;
  return {
    ...definition,
    contexts: isForMembers
      ? [InteractionContextType.Guild]
      : [InteractionContextType.Guild, InteractionContextType.BotDM],
    integration_types: [ApplicationIntegrationType.GuildInstall],
  };
}

function hashOf(definitions: unknown): string {
  return createHash('sha256').update(JSON.stringify(definitions)).digest('hex');
}

function explain(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof Unavailable) return error;
  if ('status' in error && error.status === 401) {
    return new InvalidInput('Discord refuses DISCORD_TOKEN: copy the token from the developer portal again', {
      cause: error,
    });
  }
  if (error instanceof DiscordAPIError && error.status < 500) {
    const hint = isDiscordError(error, RESTJSONErrorCodes.MissingAccess)
      ? ': invite the application to the guild of DISCORD_GUILD_ID first'
      : '';
    return new InvalidInput(`Discord refuses the commands (${error.message})${hint}`, { cause: error });
  }
  if ('code' in error || 'status' in error || error.name === 'AbortError') {
    return new Unavailable(`Discord cannot be reached to put the commands (${error.message})`, {
      cause: error,
    });
  }
  return error;
}
