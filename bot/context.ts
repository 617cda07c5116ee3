import type { REST } from '@discordjs/rest';
import type { Logger } from 'pino';
import type { Db } from '../src/db/client.ts';
import type { ServerList } from '../src/live/server-list.ts';
import type { SitePages } from './embeds/site-pages.ts';
import type { MentionCommand } from './locales/command-mentions.ts';
import type { Localization } from './locales/localization.ts';
import type { Timings } from './timings.ts';

/** What the folders of the bot share. */
export type BotContext = {
  db: Db;
  /** Discord's REST API outside of interactions. */
  rest: REST;
  /** The only guild in which commands are registered and moderators recognised; undefined: all guilds. */
  guildId: string | undefined;
  /** The listed servers with their latest poll. */
  servers: Pick<ServerList, 'current' | 'findById' | 'findBySlug' | 'toView' | 'listViews' | 'onChange'>;
  pages: SitePages;
  /** The language of what everybody in a guild sees: that of `DISCORD_LOCALE`, else of the guild's locale. */
  localizeGuild: (guildLocale: string) => Localization;
  mention: MentionCommand;
  log: Logger;
  now: () => Date;
  timings: Timings;
};
