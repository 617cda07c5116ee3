import type { Database } from '../src/db/database.ts';
import type { Language } from '../src/domain/language.ts';
import type { SteamId64 } from '../src/domain/steam-id.ts';
import type { MirrorMetrics } from '../src/import/rounds.ts';
import type { ReadHistory } from '../src/live/server-history.ts';
import type { Config } from '../src/runtime/config.ts';
import { withTimeLimit } from '../src/runtime/time-limit.ts';
import type { CommandDeps } from './commands/command.ts';
import { createCommandRegistration } from './commands/register.ts';
import type { BotContext } from './context.ts';
import { createHistoryCharts } from './embeds/history-charts.ts';
import { createSitePages } from './embeds/site-pages.ts';
import { type ConnectionHealth, createConnection } from './gateway/connection.ts';
import { invitationTo } from './gateway/invitation.ts';
import { createModeratorRule } from './gateway/moderators.ts';
import { createPresence } from './gateway/presence.ts';
import { createRequests, createRest } from './gateway/rest.ts';
import { type Cooldown, createCooldown } from './interactions/cooldown.ts';
import { createDispatcher } from './interactions/dispatcher.ts';
import type { InteractionOutcome } from './interactions/outcome.ts';
import { createCommandMentions } from './locales/command-mentions.ts';
import { localizationIn, localizationOf } from './locales/localization.ts';
import { createPublisher } from './posting/announcements.ts';
import { createAppealNews } from './posting/appeal-news.ts';
import type { PostingHealth } from './posting/attempts.ts';
import { postForInvoker, uniqueNonce } from './posting/channel-messages.ts';
import { createDirectMessages, type DirectMessages } from './posting/direct-messages.ts';
import { createFeeds } from './posting/feeds/feeds.ts';
import { createLiveStatus } from './posting/live-status.ts';
import { createNotificationList } from './posting/notifications.ts';
import { createPenaltyNews } from './posting/penalty-news.ts';
import { createRecovery } from './posting/recovery.ts';
import { createMemberRoles, type MemberRoles } from './roles/member-roles.ts';
import { TIMINGS, type Timings } from './timings.ts';

export type BotDeps = Pick<
  CommandDeps,
  | 'guildId'
  | 'servers'
  | 'log'
  | 'vanityNames'
  | 'appealUrl'
  | 'takesAppeals'
  | 'linksAccounts'
  | 'panels'
  | 'lookUpSteamBans'
> & {
  token: string;
  /** Base of Discord's REST API, which also gives the gateway's address. */
  apiUrl: string;
  publicUrl: string;
  /** Whether everyone may read penalties on this site. */
  arePenaltiesPublic: boolean;
  database: Pick<Database, 'db' | 'requestDb'>;
  readHistory: ReadHistory;
  /** The language of everything that a guild sees; undefined: the guild's. */
  language: Language | undefined;
  /** The time zone of charts, by its IANA name. */
  timeZone: string;
  /** Which roles give flags and which follow facts, in the guild `guildId`; undefined: none. */
  roles: Config['discord']['roles'];
  mirrorMetrics: MirrorMetrics;
  /** Whether the bot's presence shows how many play. */
  showsPresence: boolean;
  countLogin: () => void;
  countInteraction: (outcome: InteractionOutcome) => void;
  now?: () => Date;
  cooldown?: Cooldown;
  timings?: Partial<Timings>;
};

type BotHealth = ConnectionHealth & {
  /** Why nobody is a moderator; undefined when moderators are recognised. */
  moderators: string | undefined;
  /** `registered`, or why the commands are not. */
  commands: string;
  feeds: PostingHealth;
  liveMessages: PostingHealth;
  directMessages: ReturnType<DirectMessages['health']>;
  /** Undefined without configured roles. */
  roles: ReturnType<MemberRoles['health']> | undefined;
};

/** The Discord bot: commands, live status messages, feeds, and the connection to Discord. */
export type Bot = {
  /** Returns at once; the login continues in the background. */
  start: () => void;
  /** Waits for responses and edits under way, and disconnects: within 1.5 seconds. */
  stop: () => Promise<void>;
  /** Called when penalties change, so that their feeds check at once. */
  wakeFeeds: () => Promise<void>;
  /** Called when flags, links or penalties change, so that roles follow soon. @param players those whose bans may have. */
  wakeRoles: (players?: readonly SteamId64[]) => void;
  health: () => BotHealth;
};

/** Creates a bot. None of its failures rejects or ends the process; `health` reports its state. */
export function createBot(deps: BotDeps): Bot {
  const { log, guildId, language, database } = deps;
  const { mention, setIds } = createCommandMentions();
  const timings = { ...TIMINGS, ...deps.timings };
  const requests = createRequests({ log, pauseMs: timings.unnamedLimitMs });
  const context: BotContext & BotDeps = {
    ...deps,
    db: database.db,
    rest: createRest({ ...deps, requests }),
    pages: createSitePages(deps),
    localizeGuild: (guildLocale) => (language ? localizationIn(language) : localizationOf(guildLocale)),
    mention,
    now: deps.now ?? (() => new Date()),
    timings,
  };
  const hastyRest = createRest({ ...deps, requests, waitsInChannels: false });
  const directMessages = createDirectMessages(
    // A limit in one person's channel pauses all direct messages instead of holding them up.
    { ...context, rest: hastyRest },
    [
      createNotificationList(context),
      createPenaltyNews(context),
      ...(deps.takesAppeals ? [createAppealNews(context)] : []),
    ],
  );
  const { tell } = directMessages;
  const publish = createPublisher({ rest: hastyRest, log });
  const recovery = createRecovery();
  const liveStatus = createLiveStatus({ ...context, recovery, publish, tell });
  const moderators = createModeratorRule(context);
  const feeds = createFeeds({ ...context, moderators, recovery, publish, tell });
  const dispatcher = createDispatcher({
    ...context,
    commandDeps: {
      ...context,
      db: database.requestDb,
      chartOf: createHistoryCharts(deps),
      pinLiveStatus: liveStatus.pin,
      unpinLiveStatus: liveStatus.unpin,
      onFeedsChanged: feeds.onChanged,
      sendDirectMessage: directMessages.send,
      postMessage: async ({ guildId, channelId }, message) => {
        await postForInvoker(context, channelId, { message, nonce: uniqueNonce() });
        recovery.worked(guildId);
      },
    },
    cooldown: deps.cooldown ?? createCooldown(),
    moderators,
  });
  const memberRoles =
    deps.roles && guildId !== undefined ? createMemberRoles(context, { ...deps.roles, guildId }) : undefined;
  const registration = createCommandRegistration({
    ...context,
    setIds,
    onReturned: recovery.returned,
  });
  const stopping = new AbortController();
  let runningRoles: Promise<void> | undefined;
  const connection = createConnection({
    ...context,
    requests,
    onInteraction: dispatcher.dispatch,
    onMember: memberRoles?.observe,
    onLogin: ({ applicationId, userId, guildIds }) => {
      if (guildIds.length === 0) {
        const invitation = invitationTo({ applicationId, guildId, roles: deps.roles });
        log.warn({ invitation }, 'the bot is in no guild yet: open the invitation to add it');
      }
      liveStatus.start();
      moderators.start();
      feeds.start();
      directMessages.start();
      if (deps.showsPresence) presence.start();
      runningRoles ??= memberRoles?.run(userId, stopping.signal);
      registration.start(guildIds);
    },
  });
  const presence = createPresence({ ...context, show: connection.showStatus });

  return {
    start: connection.start,
    stop: async () => {
      stopping.abort();
      moderators.stop();
      presence.stop();
      const draining = Promise.allSettled([
        dispatcher.drain(),
        liveStatus.stop(),
        feeds.stop(),
        directMessages.stop(),
        runningRoles,
        registration.stop(),
      ]);
      await withTimeLimit(draining, context.timings.drainMs).catch(() => undefined);
      await connection.stop();
    },
    wakeFeeds: () => {
      directMessages.wake();
      return feeds.wake();
    },
    wakeRoles: (players) => memberRoles?.wake(players),
    health: () => ({
      ...connection.health(),
      moderators: moderators.objection(),
      commands: registration.health(),
      feeds: feeds.health(),
      liveMessages: liveStatus.health(),
      roles: memberRoles?.health(),
      directMessages: directMessages.health(),
    }),
  };
}
