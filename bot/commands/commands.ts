import type { Command, Components } from '../command.ts';
import {
  type BanCheckDeps,
  banCheckCommand,
  banCheckDefinition,
  checkBansCommand,
  checkBansDefinition,
} from './ban-check.ts';
import { banCheckComponents } from './ban-check-components.ts';
import { type FeedDeps, feedCommand, feedDefinition } from './feed.ts';
import { lookupCommand, lookupDefinition } from './lookup.ts';
import { serverCommand, serverDefinition } from './server.ts';
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
export function commandDefinitions(): Command['data'][] {
  return [
    serverDefinition(),
    banCheckDefinition(),
    lookupDefinition(),
    checkBansDefinition(),
    feedDefinition(),
  ];
}
