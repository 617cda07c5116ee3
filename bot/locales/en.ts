import type { AppealEnding, AppealNews, AppealState, AppealTurn } from '../../src/domain/appeal.ts';
import type { FeedChange } from '../../src/domain/discord-feed.ts';
import type { FeedSubject } from '../../src/domain/event.ts';
import type { PenaltyStatus, PenaltyType } from '../../src/domain/penalty.ts';
import { durationInWords } from '../../src/domain/text/duration.ts';
import { type NounForms, pluralForm } from '../../src/domain/text/plural.ts';

const NOUNS = {
  ban: { one: 'ban', other: 'bans' },
  mute: { one: 'mute', other: 'mutes' },
  gag: { one: 'gag', other: 'gags' },
  silence: { one: 'silence', other: 'silences' },
  warn: { one: 'warning', other: 'warnings' },
  penalty: { one: 'penalty', other: 'penalties' },
  appeal: { one: 'appeal', other: 'appeals' },
  newPenalty: { one: 'new penalty', other: 'new penalties' },
  player: { one: 'player', other: 'players' },
  server: { one: 'server', other: 'servers' },
  /** A feed or a live status message. */
  post: { one: 'feed or live status message', other: 'feeds or live status messages' },
  vacBan: { one: 'VAC ban', other: 'VAC bans' },
  gameBan: { one: 'game ban', other: 'game bans' },
} as const satisfies Record<string, NounForms>;

const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('en')} ${pluralForm('en', amount, NOUNS[noun])}`;
const numbered = ({ type, id }: NumberedPenalty): string => `${NOUNS[type].one} #${id}`;
const listed = new Intl.ListFormat('en');
const daysAgo = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const penaltyTypes: Record<PenaltyType, string> = {
  ban: 'Ban',
  mute: 'Mute',
  gag: 'Gag',
  silence: 'Silence',
  warn: 'Warning',
};
const statuses: Record<PenaltyStatus, string> = { ACTIVE: 'Active', EXPIRED: 'Expired', UNBANNED: 'Lifted' };
const inForce = (participle: string) => ({
  until: (end: string) => `${participle} until ${end}`,
  during: (duration: string) => `${participle} for ${duration}`,
  permanently: `${participle} permanently`,
});
/** Before the word "feed". */
const feedName: Record<FeedSubject, string> = {
  penalties: 'penalty',
  servers: 'server',
  appeals: 'appeal',
};
const permissions = {
  viewChannel: 'View Channel',
  sendMessages: 'Send Messages',
  sendMessagesInThreads: 'Send Messages in Threads',
  embedLinks: 'Embed Links',
};
/** The permissions needed to post messages with embeds. */
const postingPermissions = `“${permissions.viewChannel}”, “${permissions.sendMessages}” (in a thread “${permissions.sendMessagesInThreads}”) and “${permissions.embedLinks}”`;

/** Every text of the bot in English; the other languages have this shape. */
export const en = {
  commands: {
    server: {
      name: 'server',
      description: 'Live status of the game servers',
      options: {
        name: { name: 'name', description: 'Server; leave empty for all of them' },
      },
    },
    banCheck: {
      name: 'ban-check',
      description: 'Your penalties; moderators may check anyone',
      options: {
        steamid: {
          name: 'steamid',
          description: 'SteamID, account ID, Steam profile address, or Discord ID or @name',
        },
        user: { name: 'user', description: 'Discord user with a linked Steam account' },
        player: { name: 'player', description: 'Moderators: nickname of a player seen here before' },
        show: { name: 'show', description: 'Moderators: show the response to everyone in the channel' },
      },
    },
    lookup: {
      name: 'lookup',
      description: 'Look up a player',
      options: {
        user: { name: 'user', description: 'Discord user; takes precedence over a SteamID' },
        steamid: {
          name: 'steamid',
          description: 'SteamID, account ID, Steam profile address, or Discord ID or @name',
        },
        player: { name: 'player', description: 'Nickname of a player seen here before' },
        show: { name: 'show', description: 'Moderators: show the response to everyone in the channel' },
      },
    },
    checkBans: { name: 'Check bans' },
    feed: {
      name: 'feed',
      description: 'Post news of penalties, servers or appeals in this channel as they happen',
      start: {
        name: 'start',
        description: 'Post updates in this channel from now on',
        options: {
          what: { name: 'what', description: 'What to post about' },
          types: { name: 'types', description: 'Penalties: only these types, such as ban, mute; * for all' },
          server: { name: 'server', description: 'Only this server; * for all' },
          players: {
            name: 'players',
            description: 'Servers: post when a server has this many players; 0 for never',
          },
          after: { name: 'after', description: 'Servers: minutes offline before it is posted; 3 by default' },
          role: {
            name: 'role',
            description: 'Role to mention for enough players or for new appeals; @everyone for none',
          },
          channel: { name: 'channel', description: 'A channel other than this one' },
        },
      },
      list: { name: 'list', description: 'The feeds and live status messages of this Discord server' },
      stop: {
        name: 'stop',
        description: 'Stop a feed in this channel',
        options: {
          what: { name: 'what', description: 'Which feed' },
          channel: { name: 'channel', description: 'A channel other than this one' },
        },
      },
      test: {
        name: 'test',
        description: 'Post an example in this channel',
        options: {
          what: { name: 'what', description: 'What to post an example of' },
          channel: { name: 'channel', description: 'A channel other than this one' },
        },
      },
    },
    notify: {
      name: 'notify',
      description: 'Get a direct message when a server has enough players',
      on: {
        name: 'on',
        description: 'Get a direct message when a server has that many players',
        options: {
          server: { name: 'server', description: 'Server' },
          players: { name: 'players', description: 'How many players it takes' },
        },
      },
      list: { name: 'list', description: 'The servers you get notifications about' },
      off: {
        name: 'off',
        description: 'Stop these messages',
        options: { server: { name: 'server', description: 'Server; leave empty for all of them' } },
      },
    },
  },

  server: {
    map: 'Map',
    mode: 'Mode',
    region: 'Region',
    players: 'Players',
    ping: 'Server ping',
    milliseconds: (amount: number) => `${amount} ms`,
    address: 'Address',
    updated: (when: string) => `Updated ${when}`,
    offline: 'Offline',
    offlineSince: (when: string) => `Offline, last seen ${when}`,
    neverSeen: 'Offline, never seen online',
    full: ({ players, maxPlayers, since }: { players: number; maxPlayers: number; since: string }) =>
      `Full: ${players}/${count(maxPlayers, 'player')} since ${since}`,
    notPolled: 'Not polled yet',
    unchecked: 'Not checked',
    uncheckedSince: (when: string) => `Not checked since ${when}`,
    nobody: 'Nobody is playing right now.',
    namesUnknown: 'This server doesn’t share its player list.',
    more: (amount: number) => `… and ${amount.toLocaleString('en')} more`,
    playerCount: (amount: number) => count(amount, 'player'),
    playersOf: (name: string) => `Players on ${name}`,
    chartAlt: ({ peak, peakAt, average, gaps }: ChartFacts) =>
      `Chart of players over the last 24 hours: at most ${peak} (${peakAt}), ${average} on average${gaps ? '; with gaps where the server was offline (they count as 0)' : ''}.`,
    allServers: 'Servers',
    totals: ({ online, servers, players, capacity }: Record<Total, number>) =>
      `${online.toLocaleString('en')} of ${count(servers, 'server')} online · ${players.toLocaleString('en')}/${count(capacity, 'player')}`,
    presence: (players: number, servers: number) =>
      `${count(players, 'player')} on ${count(servers, 'server')}`,
    none: 'There are no servers yet.',
    choose: 'Choose a server',
    chooseNext: (number: number) => `Choose a server (${number})`,
    noLongerListed: 'This server is no longer listed.',
    live: 'Updates automatically',
    updatesForbidden: (channel: string) =>
      `The live status you pinned in ${channel} no longer updates: I may not edit it. Give me ${postingPermissions} there, then pin it again.`,
  },

  chart: {
    title: 'Players, last 24 hours',
    capacity: 'slots',
    offline: 'offline',
    peak: (amount: number) => `peak ${amount}`,
  },

  record: {
    clean: 'No penalties. 🎉',
    nothingMatches: 'No penalty matches these filters.',
    noneActive: 'No active penalties',
    inForce: {
      ban: inForce('Banned'),
      mute: inForce('Muted'),
      gag: inForce('Gagged'),
      silence: inForce('Silenced'),
      warn: { ...inForce('Warned'), permanently: 'Warned' },
    },
    total: (summary: string) => `**On record:** ${summary}`,
    count: (type: PenaltyType, amount: number) => count(amount, type),
    types: penaltyTypes,
    /** The choices of the filter. */
    statuses,
    /** The status after the penalty's type; in some languages it agrees with the type's gender. */
    statusOf: (_type: PenaltyType, status: PenaltyStatus | 'REMOVED') =>
      status === 'REMOVED' ? 'removed' : statuses[status].toLowerCase(),
    entry: ({ type, id }: { type: PenaltyType; id: number }) => `${penaltyTypes[type]} #${id}`,
    reason: 'Reason',
    noReason: 'no reason given',
    admin: 'Admin',
    console: 'Console',
    /** In place of the name of an admin who was erased. */
    formerAdmin: 'Former admin',
    unnamedAdmin: 'Unnamed admin',
    server: 'Server',
    allServers: 'all servers',
    noServer: 'no server',
    duration: 'Duration',
    durationInWords: (minutes: number) => durationInWords('en', minutes),
    permanent: 'permanent',
    /** The duration of a penalty that counts down only while the player is online. */
    onlineTime: (duration: string) => `${duration} of playing time`,
    issued: 'Issued',
    ends: 'Ends',
    ended: 'Ended',
    never: 'never',
    lifted: 'Lifted',
    lifters: { console: 'the console', formerAdmin: 'a former admin' },
    liftedBy: (admin: string) => `by ${admin}`,
    liftReason: (reason: string) => `“${reason}”`,
    /** A link to the page of a penalty in the panel of the system that issued it. */
    panel: 'ban panel',
    page: ({ page, lastPage, total }: { page: number; lastPage: number; total: number }) =>
      `Page ${page} of ${lastPage} · ${count(total, 'penalty')}`,
    filterType: 'Filter by type',
    filterStatus: 'Filter by status',
    everyType: 'All types',
    everyStatus: 'All statuses',
  },

  steamBans: {
    title: 'Steam bans',
    line: (summary: string) => `**Steam:** ${summary}`,
    none: 'no bans',
    unknown: 'not known right now',
    vac: (amount: number) => count(amount, 'vacBan'),
    game: (amount: number) => count(amount, 'gameBan'),
    community: 'community ban',
    last: (days: number) => `last one ${daysAgo.format(-days, 'day')}`,
  },

  user: {
    steamId: 'SteamID64',
    otherNotations: 'Other notations',
    accountId: 'Account ID',
    discord: 'Discord',
    notLinked: 'not linked',
    flags: 'Flags',
    noFlags: 'none',
    owner: 'Owner',
    admin: 'Admin',
    svip: 'SVIP',
    premium: 'Premium',
    banned: 'Banned',
    memberSince: 'Member since',
    discordSince: 'On Discord since',
    unnamed: 'Unnamed player',
    neverSignedIn: 'This player has never signed in here.',
    choose: 'Choose a player',
  },

  /** What feeds post, and what `/feed` responds. */
  feed: {
    subjects: { penalties: 'Penalties', servers: 'Servers', appeals: 'Appeals' } satisfies Record<
      FeedSubject,
      string
    >,
    player: 'Player',
    unknownPlayer: 'unknown player',
    summaryTitle: (amount: number) => count(amount, 'newPenalty'),
    summary: ({ since, counts }: { since: string; counts: string }) =>
      `${counts}\nThe first came ${since}. There were too many to post one by one.`,
    lastSeen: (when: string) => `Last seen ${when}`,
    one: {
      down: (name) => `${name} is offline`,
      up: (name) => `${name} is back online`,
      players: (name, players) => `${count(players, 'player')} on ${name}`,
      flapping: (name) => `${name} keeps going down`,
    } as Record<FeedChange | 'flapping', (name: string, players: number) => string>,
    /** Beside a server that keeps going down. */
    flapping: 'Offline for the third time within an hour. No more about it until it has been up for an hour.',
    several: {
      down: (servers) => `${count(servers, 'server')} offline`,
      up: (servers) => `${count(servers, 'server')} back online`,
      players: () => 'Players wanted: these servers are filling up',
    } satisfies Record<FeedChange, (servers: number) => string>,

    /** The first line that a feed posts. */
    begins: (subject: FeedSubject) => `📣 Updates on ${subject} will appear in this channel.`,
    started: ({ subject, channel, stop }: FeedPlace & { stop: string }) =>
      `Done. ${channel} now gets updates on ${subject}; ${stop} ends them.`,
    resumed: ({ subject, channel, since }: FeedPlace & { since: string }) =>
      `Done. The ${feedName[subject]} feed in ${channel} was paused ${since}. It continues where it stopped:`,
    changed: ({ subject, channel }: FeedPlace) =>
      `Done. The ${feedName[subject]} feed in ${channel} now has these settings:`,
    stopped: ({ subject, channel }: FeedPlace) => `Done. ${channel} no longer gets updates on ${subject}.`,
    othersPaused: (amount: number) =>
      `⏸️ Also paused in this Discord server: ${count(amount, 'post')}. I’ll try again once a message gets through.`,
    listTitle: 'Feeds and live status',
    liveMessage: 'Live status',
    message: 'Message',
    /** The menu of feeds and live status messages. */
    end: 'End one of these',
    none: (start: string) => `There are no feeds yet. Start one with ${start}.`,
    tested: (channel: string) => `Done. The example is in ${channel}.`,
    /** Before the text of an example. */
    example: '🧪 Example:',
    examplePlayer: 'Example player',
    exampleReason: 'Nobody was banned, this is an example.',
    allTypes: 'all types',
    downAfter: (minutes: number) =>
      minutes === 0 ? 'offline at once' : `offline after ${durationInWords('en', minutes)}`,
    playersAtLeast: (amount: number) => `${count(amount, 'player')} or more`,
    startedBy: (mention: string) => `started by ${mention}`,
    lacksHere: (permissions: string) => `I’m missing permissions in this channel: ${permissions}.`,
    permissions,

    manageGuildRequired: 'Only members with “Manage Server” can set up feeds.',
    cannotPost: (permissions: string) =>
      `I can’t post here. Give me these permissions in this channel: ${permissions}.`,
    mayNotMention: (role: string) =>
      `You may not mention ${role} in this channel yourself, so you can’t have a feed mention it.`,
    cannotMention: (role: string) =>
      `I can’t mention ${role}. Allow anyone to mention it, or give me “Mention @everyone, @here, and All Roles” in this channel.`,
    unknownType: ({ text, allowed }: { text: string; allowed: string }) =>
      `**${text}** isn’t a type of penalty. The types are: ${allowed}.`,
    takesOnly: ({ subject, options }: { subject: FeedSubject; options: readonly string[] }) =>
      `Feeds of ${subject} take only ${listed.format(options)}.`,
    appealsAreOff: 'Nobody can appeal on this site: its operator has to set `APPEALS=1` first.',
    roleNeedsPlayers: 'The option `role` needs `players`: how many players it takes to mention it.',
    noSuchFeed: ({ subject, channel }: FeedPlace) => `${channel} has no ${feedName[subject]} feed.`,

    switchedOff: ({ subject, channel, start }: LostFeed) =>
      `The ${feedName[subject]} feed in ${channel} has been switched off. The channel no longer exists. You can start the feed in another one with ${start}.`,
    paused: ({ subject, channel, start }: LostFeed) =>
      `The ${feedName[subject]} feed in ${channel} is paused. I can no longer post there. Give me ${postingPermissions} there, then use ${start} there again: the feed continues where it stopped.`,
    pausedSince: (when: string, start: string) => `⏸️ paused ${when}, ${start} resumes it`,
    livePausedSince: (when: string) => `⏸️ paused ${when}`,
  },

  /** What `/notify` responds. */
  notify: {
    /** Also the first direct message. */
    promise: ({ server, players }: { server: string; players: number }) =>
      `I’ll message you when ${server} has ${count(players, 'player')} or more.`,
    reachedAlready:
      'It already has that many now, so I’ll wait until it drops below that number and reaches it again.',
    on: (off: string) => `Done, and I’ve just sent you a first message. ${off} ends it.`,
    off: (servers: number) => `Done. You’ll get no more messages about ${count(servers, 'server')}.`,
    none: (on: string) => `You haven’t turned on any notifications. Turn one on with ${on}.`,
    end: 'Stop the messages about a server',
    resumed: 'Your notifications were paused, because I couldn’t message you. They continue now.',
    inboxClosed:
      'I can’t message you. Right-click or hold the icon of this Discord server, choose “Privacy Settings”, turn on “Direct Messages”, and use the command again. If you have blocked me, unblock me first.',
    limited: (when: string) => `Discord limits my direct messages right now. Try again ${when}.`,
    tooMany: (most: number) =>
      `You can get notifications about ${count(most, 'server')} at most. Turn one off first.`,
  },

  appeal: {
    title: ({ entry, state }: { entry: string; state: string }) => `Appeal against ${entry}: ${state}`,
    states: {
      undecided: 'undecided',
      accepted: 'accepted',
      denied: 'denied',
      closed: 'closed',
    } satisfies Record<AppealState, string>,
    carriedOut: 'accepted, carried out',
    /** Instead of an appeal that was deleted. */
    deleted: 'This appeal has been deleted.',
    waitsFor: {
      staff: 'Waiting for staff',
      player: 'Waiting for the player',
      lift: 'Waiting for the penalty to be lifted',
    } satisfies Record<AppealTurn, string>,
    /** A reply to the message about an appeal. */
    answered: 'The player has answered.',
    waitForLong: ({ staff, lift }: { staff: number; lift: number }) =>
      `Waiting for more than a day: ${listed.format([
        ...(staff > 0 ? [`${count(staff, 'appeal')} for staff`] : []),
        ...(lift > 0 ? [`${count(lift, 'penalty')} to be lifted`] : []),
      ])}.`,
    open: 'Open the appeal',
    openAll: 'Open the appeals',
    /** A direct message to the player. */
    news: {
      asked: (penalty) => `There is a question about your appeal against ${numbered(penalty)}.`,
      accepted: (penalty) =>
        `Your appeal against ${numbered(penalty)} was accepted. You’ll get another message once it is lifted.`,
      denied: (penalty) => `Your appeal against ${numbered(penalty)} was denied.`,
      closed: (penalty) =>
        `Your ${numbered(penalty)} ${penalty.ending === 'expired' ? 'has ended' : 'has been lifted'}, so your appeal is closed.`,
      carriedOut: (penalty) => `Your ${numbered(penalty)} has been lifted, because your appeal was accepted.`,
    } satisfies Record<AppealNews, (penalty: AppealedPenalty) => string>,
  },

  /** Direct messages to players about their own penalties. */
  personal: {
    begun: ({ what, reason }: { what: string; reason: string }) =>
      `You have a new penalty. ${what}: ${reason}`,
    lifted: (penalty: NumberedPenalty) => `Your ${numbered(penalty)} has been lifted.`,
    ended: (penalty: NumberedPenalty) => `Your ${numbered(penalty)} has ended.`,
  },

  buttons: {
    notifyOff: 'Stop these messages',
    refresh: 'Refresh',
    players: 'Players',
    connect: 'Connect',
    allServers: 'All servers',
    pin: 'Pin live status here',
    first: 'First page',
    previous: 'Previous',
    next: 'Next',
    last: 'Last page',
    record: 'Penalties',
    appeal: 'Appeal',
    site: 'Website',
    profile: 'Steam profile',
    channel: 'Open the channel',
    message: 'Open the message',
    account: 'Link my account',
  },

  refusals: {
    tooManyPlayers: (slots: number) => `This server has room for only ${count(slots, 'player')}.`,
    serverNotFound: (name: string) => `There is no server **${name}**. Pick one from the list.`,
    vanityUnavailable:
      'Custom profile addresses can’t be looked up right now. Use the SteamID64, or an address with /profiles/ and a number.',
    notLinkedYourself: 'Your Discord account is not linked to a Steam account yet.',
    linkingIsOff:
      'Nobody can link their account on this site: its operator has to set `DISCORD_CLIENT_ID` and `DISCORD_CLIENT_SECRET` first.',
    notLinkedUser: (mention: string) => `${mention} has no linked Steam account.`,
    playerNotFound: (name: string) =>
      `Nobody called **${name}** has been seen here. Pick a player from the list, or enter a SteamID, a profile address or a Discord user (@name).`,
    severalPlayers: (name: string) => `Several players are called **${name}**. Which one do you mean?`,
    whomToLookUp: 'Choose a Discord user, enter a SteamID or pick a player.',
    nobodyModerates:
      'Nobody is a moderator here yet, because anybody may add this bot to a server of their own. Its operator has to turn off “Public Bot” in Discord’s developer portal or set `DISCORD_GUILD_ID` first.',
    moderateMembersRequired: (banCheck: string) =>
      `Only moderators can check other people. For your own record, run ${banCheck} without options.`,
    notYours: 'These buttons are for the person who asked. Run the command yourself.',
    pinRequiresModerateMembers: 'Only moderators can pin the live status.',
    cannotPost: `I can’t post in that channel. Give me ${postingPermissions} there; in a private thread, mention me first.`,
    channelLimited:
      'Discord limits how much I may post in that channel right now. Please try again in a few minutes.',
    pinned: 'Done. The message above updates automatically; delete it to stop.',
    outdated: 'This message is out of date. Please use the command again.',
    tooFast: (when: string) => `Slow down, please. Try again ${when}.`,
    unavailable: (errorId: string) =>
      `The data can’t be read right now. Please try again in a minute. (Error \`${errorId}\`)`,
    failed: (errorId: string) =>
      `Something went wrong on our side. Please try again; if it happens again, give an admin this error ID: \`${errorId}\``,
  },
};

/** The type is `penalty` when it is not known any more. */
export type NumberedPenalty = { type: PenaltyType | 'penalty'; id: number };
/** `ending`: how the penalty ended, if the message is about that. */
type AppealedPenalty = NumberedPenalty & { ending: AppealEnding | null };
type FeedPlace = { subject: FeedSubject; channel: string };
/** A feed that cannot post, and the command that starts it. */
type LostFeed = FeedPlace & { start: string };
export type Texts = typeof en;
type Total = 'online' | 'servers' | 'players' | 'capacity';
export type ChartFacts = { peak: string; peakAt: string; average: string; gaps: boolean };
/** The permissions that the bot needs in the channel of a feed. */
export type BotPermission = keyof typeof permissions;
