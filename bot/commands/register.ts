import { createHash } from 'node:crypto';
import type { REST } from '@discordjs/rest';
import {
  type APIApplicationCommand,
  ApplicationCommandType,
  ApplicationIntegrationType,
  InteractionContextType,
  type RESTPostAPIApplicationCommandsJSONBody,
  Routes,
} from 'discord.js';
import { InvalidInput, LimitReached, Unavailable } from '../../src/domain/errors.ts';
import { HOUR_MS } from '../../src/domain/time.ts';
import { findSetting, saveSetting } from '../../src/queries/settings.ts';
import { createLoop } from '../../src/runtime/loop.ts';
import type { BotContext } from '../context.ts';
import { isDiscordRefusal, readApplication, toDiscordFailure } from '../gateway/rest.ts';
import type { CommandIds } from '../locales/command-mentions.ts';
import { COMMANDS } from './commands.ts';

type RegisterDeps = Pick<BotContext, 'rest' | 'db' | 'guildId'>;

export type Registration = {
  isChanged: boolean;
  /** The number of commands. */
  commands: number;
  /** The guild's id, or `global`. */
  scope: string;
  /** The ids that Discord assigned to the slash commands. */
  ids: CommandIds;
};

type CommandRegistration = {
  /** Called at each login: checks the commands at once, and from then on every `commandCheckMs`. */
  start: (guildIds: readonly string[]) => void;
  stop: () => Promise<void>;
  /** `registered`, or why the commands are not. */
  health: () => string;
};

/** The setting with the last registration: application id, scope, hash of the definitions. */
const SETTING = 'discord_commands';
const GLOBAL = 'global';
const REGISTERED = 'registered';
/** The pause while Discord or the database cannot be reached. */
const RETRY_MS = 10_000;

/**
 * Keeps the commands registered: Discord drops those of a guild when the bot is removed from it, and without the Guilds
 * intent no event tells that it was invited again.
 * @param context.setIds gets the ids of the slash commands whenever they are registered.
 * @param context.onReturned called when Discord has the commands again, which it had dropped or refused.
 */
export function createCommandRegistration(
  context: RegisterDeps &
    Pick<BotContext, 'log' | 'now' | 'timings'> & {
      setIds: (ids: CommandIds) => void;
      onReturned: () => void;
    },
): CommandRegistration {
  const { log, now, setIds } = context;
  const { commandCheckMs: everyMs } = context.timings;
  let guildIds: readonly string[] = [];
  let state = 'not registered yet';
  let refusedSince: Date | undefined;
  let pauseMs = everyMs;
  const loop = createLoop({
    name: 'registering the slash commands',
    everyMs,
    nextPauseMs: () => pauseMs,
    work: check,
    log,
  });

  async function check(): Promise<void> {
    try {
      const { isChanged, ids, commands, scope } = await registerCommands(context, { guildIds });
      if (isChanged) log.info({ commands, scope }, 'slash commands registered');
      else if (state !== REGISTERED) log.info({ commands, scope }, 'slash commands are already registered');
      setIds(ids);
      state = REGISTERED;
      const isBack = isChanged || refusedSince !== undefined;
      refusedSince = undefined;
      pauseMs = everyMs;
      if (isBack || (await isInNewGuild())) context.onReturned();
    } catch (error) {
      pauseMs = pauseAfter(error);
      report(error);
    }
  }

  /** Global commands stay registered while the bot is in no guild: whether it was invited to one since the last check. */
  async function isInNewGuild(): Promise<boolean> {
    if (context.guildId !== undefined) return false;
    const before = new Set(guildIds);
    guildIds = await listGuildIds(context.rest).catch(() => guildIds);
    return guildIds.some((id) => !before.has(id));
  }

  function pauseAfter(error: unknown): number {
    refusedSince = error instanceof InvalidInput ? (refusedSince ?? now()) : undefined;
    // A refusal that has lasted for an hour is checked less often.
    if (refusedSince) return now().getTime() - refusedSince.getTime() < HOUR_MS ? everyMs : 5 * everyMs;
    if (error instanceof LimitReached) return Math.max(everyMs, error.retryAfterSeconds * 1000);
    return Math.min(RETRY_MS, everyMs);
  }

  function report(error: unknown): void {
    const isRefusal = error instanceof InvalidInput || error instanceof LimitReached;
    // An outage says nothing about what is registered.
    if (!isRefusal && state === REGISTERED) return;
    const reason = isRefusal || error instanceof Unavailable ? error.message : 'the database cannot be read';
    if (reason !== state) log.warn({ err: error }, 'slash commands could not be registered: retrying');
    state = reason;
  }

  return {
    start: (ids) => {
      guildIds = ids;
      void loop.wake();
      loop.start();
    },
    stop: loop.stop,
    health: () => state,
  };
}

/**
 * Replaces all registered commands in one request if Discord lacks one of them, or their definitions have changed since
 * the last registration. Definitions are compared by their hash: Discord lists them in another form. Commands of the same
 * names in other scopes are removed, or people would see each of them twice.
 * @param options.guildIds the guilds of the bot; Discord is asked for them by default.
 * @param options.isForced replaces them even if nothing has changed.
 * @throws {InvalidInput} when Discord rejects the token or the commands · {LimitReached} when it limits how often they are
 *   registered · {Unavailable} when it cannot be reached.
 */
export async function registerCommands(
  { rest, db, guildId }: RegisterDeps,
  { guildIds, isForced = false }: { guildIds?: readonly string[]; isForced?: boolean } = {},
): Promise<Registration> {
  try {
    const { applicationId } = await readApplication(rest);
    const definitions = COMMANDS.map(({ define }) => define()).map((definition) =>
      guildId === undefined ? withContexts(definition) : definition,
    );
    const scope = guildId ?? GLOBAL;
    const key = [applicationId, scope, hashOf(definitions)].join(' ');
    const route = routeOf(applicationId, scope);
    const keys = new Set(definitions.map(keyOf));
    let commands = toCommands(await rest.get(route));
    const isComplete = keys.isSubsetOf(new Set(commands.map(keyOf)));
    const stored = (await findSetting(db, SETTING)) ?? '';
    const isChanged = isForced || !isComplete || stored !== key;
    if (isChanged) {
      commands = toCommands(await rest.put(route, { body: definitions }));
      const [storedApplication, storedScope = GLOBAL] = stored.split(' ');
      const others = new Set([GLOBAL, ...(guildIds ?? (await listGuildIds(rest)))]);
      if (storedApplication === applicationId) others.add(storedScope);
      others.delete(scope);
      for (const other of others) await removeCommands(rest, routeOf(applicationId, other), keys);
      await saveSetting(db, SETTING, key);
    }
    return { isChanged, commands: definitions.length, scope, ids: idsOf(commands) };
  } catch (error) {
    throw toDiscordFailure(error);
  }
}

/** Discord's list of commands. @throws {Unavailable} for another response. */
function toCommands(response: unknown): APIApplicationCommand[] {
  if (!Array.isArray(response)) throw new Unavailable("Discord's response is not a list of commands");
  return response;
}

/** Names are unique among the commands of one type. */
function keyOf({ type, name }: { type?: ApplicationCommandType | undefined; name: string }): string {
  return `${type ?? ApplicationCommandType.ChatInput} ${name}`;
}

/** The ids of the slash commands in Discord's response. */
function idsOf(commands: readonly APIApplicationCommand[]): CommandIds {
  const slashCommands = commands.filter(({ type }) => type === ApplicationCommandType.ChatInput);
  return Object.fromEntries(slashCommands.map(({ name, id }) => [name, id]));
}

/** The guilds of the bot, the first 200 of them; none where `DISCORD_API_URL` does not offer them. */
async function listGuildIds(rest: REST): Promise<string[]> {
  const guilds = await rest.get(Routes.userGuilds()).catch((error) => {
    if (isDiscordRefusal(error) && error.status === 404) return [];
    throw error;
  });
  if (!Array.isArray(guilds)) throw new Unavailable("Discord's response is not a list of guilds");
  return guilds.map(({ id }) => String(id));
}

/** Removes the commands with these keys from a scope, and keeps others. */
async function removeCommands(rest: REST, route: `/${string}`, keys: ReadonlySet<string>): Promise<void> {
  try {
    const query = new URLSearchParams({ with_localizations: 'true' });
    const commands = toCommands(await rest.get(route, { query }));
    const others = commands.filter((command) => !keys.has(keyOf(command)));
    if (others.length < commands.length) await rest.put(route, { body: others });
  } catch (error) {
    // A guild that the bot has left, or that did not allow it commands, has none.
    const isGone = isDiscordRefusal(error) && (error.status === 403 || error.status === 404);
    if (!isGone) throw error;
  }
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
