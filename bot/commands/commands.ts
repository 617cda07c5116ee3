import type { Command, Components } from '../command.ts';
import {
  BAN_CHECK_DEFINITION,
  type BanCheckDeps,
  banCheckCommand,
  CHECK_BANS_DEFINITION,
  checkBansCommand,
} from './ban-check.ts';
import { banCheckComponents } from './ban-check-components.ts';
import { FEED_DEFINITION, type FeedDeps, feedCommand } from './feed.ts';
import { LOOKUP_DEFINITION, lookupCommand } from './lookup.ts';
import { SERVER_DEFINITION, serverCommand } from './server.ts';
import { serverComponents } from './server-components.ts';
import type { ServerDeps } from './server-messages.ts';

export type CommandDeps = ServerDeps & BanCheckDeps & FeedDeps;

/** All commands, and the handlers of the buttons and menus in their messages. */
export function createCommands(deps: CommandDeps): { commands: readonly Command[]; components: Components } {
  return {
    commands: [
      serverCommand(deps),
      banCheckCommand(deps),
      lookupCommand(deps),
      checkBansCommand(deps),
      feedCommand(deps),
    ],
    components: { ...serverComponents(deps), ...banCheckComponents(deps) },
  };
}

/** The definitions to register with Discord. */
export const COMMAND_DEFINITIONS: readonly Command['data'][] = [
  SERVER_DEFINITION,
  BAN_CHECK_DEFINITION,
  LOOKUP_DEFINITION,
  CHECK_BANS_DEFINITION,
  FEED_DEFINITION,
];
