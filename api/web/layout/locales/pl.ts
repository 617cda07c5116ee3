import type { Texts } from './en.ts';
import { account, data, discord, sessions, tokens } from './pl/account.ts';
import { errors } from './pl/errors.ts';
import { moderation } from './pl/moderation.ts';
import { notices } from './pl/notices.ts';
import { penalties } from './pl/penalties.ts';
import { records } from './pl/records.ts';
import { roundSound } from './pl/round-sound.ts';
import { shell, signIn } from './pl/shell.ts';
import { connect, missingServer, server, status } from './pl/status.ts';
import { webhooks } from './pl/webhooks.ts';

/** Every sentence of the pages in Polish. */
export const pl: Texts = {
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
