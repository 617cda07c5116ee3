import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { REST } from '@discordjs/rest';
import {
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIApplicationCommandsJSONBody,
  type RESTPutAPIApplicationCommandsResult,
  Routes,
} from 'discord.js';
import { InvalidInput } from '../src/domain/errors.ts';
import { findSetting, saveSetting } from '../src/queries/settings.ts';
import { retryPauseMs } from '../src/runtime/retry-pause.ts';
import type { CommandIds } from './command-mentions.ts';
import { COMMANDS } from './commands/commands.ts';
import type { BotParts } from './parts.ts';
import { isDiscordRefusal, readApplication, toDiscordFailure } from './rest.ts';

type RegisterDeps = Pick<BotParts, 'rest' | 'db' | 'guildId'>;

export type Registration = {
  isChanged: boolean;
  /** The number of commands. */
  commands: number;
  /** The guild's id, or `global`. */
  scope: string;
  /** The ids that Discord assigned to the slash commands. */
  ids: CommandIds;
};

/** The setting with the last registration: application id, scope, hash of the definitions. */
const SETTING = 'discord_commands';
const GLOBAL = 'global';
const PAUSES = { firstMs: 5000, maxMs: 600_000 };

/**
 * Registers the commands when the bot starts, and keeps trying while Discord or the database is unreachable. A refusal
 * is final. Never rejects; `signal` ends it.
 * @returns the ids of the slash commands; none if they could not be registered.
 */
export async function registerAtStart(
  deps: RegisterDeps & Pick<BotParts, 'log'>,
  signal: AbortSignal,
): Promise<CommandIds> {
  const { log } = deps;
  for (let failures = 1; !signal.aborted; failures += 1) {
    try {
      const { isChanged, commands, scope, ids } = await registerCommands(deps);
      log.info(
        { commands, scope },
        isChanged ? 'slash commands registered' : 'slash commands are registered already',
      );
      return ids;
    } catch (error) {
      const isFinal = error instanceof InvalidInput;
      log.warn(
        { err: error },
        `slash commands could not be registered${isFinal ? '' : ': retrying with growing pauses'}`,
      );
      if (isFinal) return {};
    }
    // Rejects when the bot stops, which ends the loop.
    await pause(retryPauseMs(failures, PAUSES), undefined, { signal }).catch(() => undefined);
  }
  return {};
}

/**
 * Replaces all registered commands in one request, if the definitions have changed since the last registration. Those in
 * the previous scope (global or a guild) are removed, or each command would appear twice.
 * @param isForced replaces them even if nothing has changed.
 * @throws {InvalidInput} when Discord rejects the token or the commands · {Unavailable} when it cannot be reached.
 */
export async function registerCommands(
  { rest, db, guildId }: RegisterDeps,
  { isForced = false } = {},
): Promise<Registration> {
  try {
    const { applicationId } = await readApplication(rest);
    const definitions = COMMANDS.map(({ define }) => define()).map((definition) =>
      guildId === undefined ? withContexts(definition) : definition,
    );
    const scope = guildId ?? GLOBAL;
    const key = [applicationId, scope, hashOf(definitions)].join(' ');
    const route = routeOf(applicationId, scope);
    const registration = (await findSetting(db, SETTING)) ?? '';
    const isChanged = isForced || !registration.startsWith(key);
    const response = await (isChanged ? rest.put(route, { body: definitions }) : rest.get(route));
    if (isChanged) {
      // Last: if the new scope is refused, the previous one is still registered, as the setting says.
      await removeOtherScope(rest, registration, { applicationId, scope });
      await saveSetting(db, SETTING, key);
    }
    const ids = idsOf(response as RESTPutAPIApplicationCommandsResult);
    return { isChanged, commands: definitions.length, scope, ids };
  } catch (error) {
    throw toDiscordFailure(error);
  }
}

/** The ids of the slash commands in Discord's response. */
function idsOf(commands: RESTPutAPIApplicationCommandsResult): CommandIds {
  const slashCommands = commands.filter(({ type }) => type === ApplicationCommandType.ChatInput);
  return Object.fromEntries(slashCommands.map(({ name, id }) => [name, id]));
}

async function removeOtherScope(
  rest: REST,
  registered: string,
  { applicationId, scope }: { applicationId: string; scope: string },
): Promise<void> {
  const [registeredApplication, registeredScope] = registered.split(' ');
  if (registeredApplication !== applicationId || registeredScope === undefined || registeredScope === scope)
    return;
  await rest.put(routeOf(applicationId, registeredScope), { body: [] }).catch((error) => {
    // The bot may have left that guild: then its commands are gone already.
    const isGone = isDiscordRefusal(error) && (error.status === 403 || error.status === 404);
    if (!isGone) throw error;
  });
}

function routeOf(applicationId: string, scope: string): `/${string}` {
  return scope === GLOBAL
    ? Routes.applicationCommands(applicationId)
    : Routes.applicationGuildCommands(applicationId, scope);
}

/** Where a global command may be used: in guilds, and in direct messages with the bot unless it needs a permission. */
function withContexts(definition: RESTPostAPIApplicationCommandsJSONBody) {
  const needsPermission = definition.default_member_permissions !== undefined;
  return {
    ...definition,
    contexts: needsPermission
      ? [InteractionContextType.Guild]
      : [InteractionContextType.Guild, InteractionContextType.BotDM],
    integration_types: [ApplicationIntegrationType.GuildInstall],
  };
}

function hashOf(definitions: unknown): string {
  return createHash('sha256').update(JSON.stringify(definitions)).digest('hex');
}
