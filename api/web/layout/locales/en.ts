import { account, data, discord, sessions, tokens } from './en/account.ts';
import { errors } from './en/errors.ts';
import { moderation } from './en/moderation.ts';
import { notices } from './en/notices.ts';
import { penalties } from './en/penalties.ts';
import { records } from './en/records.ts';
import { roundSound } from './en/round-sound.ts';
import { shell, signIn } from './en/shell.ts';
import { connect, missingServer, server, status } from './en/status.ts';
import { webhooks } from './en/webhooks.ts';

/** Every sentence of the pages in English; the other languages have the same shape. */
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
  records,
  webhooks,
  status,
  server,
  connect,
  missingServer,
  notices,
  errors,
};

/** The shape of every language, so that a missing sentence is a type error. */
export type Texts = typeof en;
