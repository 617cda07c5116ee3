import { account, data, discord, sessions, tokens } from './en/account.ts';
import { errors } from './en/errors.ts';
import { moderation } from './en/moderation.ts';
import { notices } from './en/notices.ts';
import { penalties } from './en/penalties.ts';
import { roundSound } from './en/round-sound.ts';
import { shell, signIn } from './en/shell.ts';
import { connect, missingServer, server, status } from './en/status.ts';
import { webhooks } from './en/webhooks.ts';

/** Every sentence of the pages in English. Its shape is the shape of every language. */
export const en = {
  shell,
  signIn,
  account,
  penalties,
  tokens,
  discord,
  sessions,
  data,
  roundSound,
  moderation,
  webhooks,
  status,
  server,
  connect,
  missingServer,
  notices,
  errors,
};

/** What a language has to have: a sentence that is missing in one of them is an error of types. */
export type Texts = typeof en;
