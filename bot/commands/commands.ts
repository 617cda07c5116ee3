import type { Command } from '../command.ts';
import { type BanCheckDeps, banCheck, checkBans } from './ban-check.ts';
import { type FeedDeps, feed } from './feed.ts';
import { lookup } from './lookup.ts';
import { server } from './server.ts';
import type { ServerDeps } from './server-messages.ts';

/** The dependencies of all commands. */
export type CommandDeps = ServerDeps & BanCheckDeps & FeedDeps;

/** Every command of the bot. */
export const COMMANDS: readonly Command<CommandDeps>[] = [server, banCheck, lookup, checkBans, feed];
