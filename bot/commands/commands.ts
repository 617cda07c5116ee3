import type { Command } from '../command.ts';
import { type BanCheckDeps, banCheckCommand, checkBansCommand } from './ban-check.ts';
import { type FeedDeps, feedCommand } from './feed.ts';
import { lookupCommand } from './lookup.ts';
import { type ServerDeps, serverCommand } from './server.ts';

/** The dependencies of all commands. */
export type CommandDeps = ServerDeps & BanCheckDeps & FeedDeps;

/** Every command of the bot. */
export const COMMANDS: readonly Command<CommandDeps>[] = [
  serverCommand,
  banCheckCommand,
  lookupCommand,
  checkBansCommand,
  feedCommand,
];
