import { banCheckCommand, checkBansCommand } from './ban-check.ts';
import type { Command } from './command.ts';
import { feedCommand } from './feed.ts';
import { lookupCommand } from './lookup.ts';
import { notifyCommand } from './notify.ts';
import { serverCommand } from './server.ts';

/** Every command of the bot. */
export const COMMANDS: readonly Command[] = [
  serverCommand,
  banCheckCommand,
  lookupCommand,
  checkBansCommand,
  feedCommand,
  notifyCommand,
];
