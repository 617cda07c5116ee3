import type { PenaltyStatus, PenaltyType } from '../../src/domain/penalty.ts';
import { durationInWords } from '../../src/domain/text/duration.ts';
import { type NounForms, pluralForm } from '../../src/domain/text/plural.ts';
import { feedCommandEn, feedEn, postingPermissionsEn } from './feed-en.ts';

const NOUNS = {
  ban: { one: 'ban', other: 'bans' },
  mute: { one: 'mute', other: 'mutes' },
  gag: { one: 'gag', other: 'gags' },
  silence: { one: 'silence', other: 'silences' },
  warn: { one: 'warning', other: 'warnings' },
  penalty: { one: 'penalty', other: 'penalties' },
  player: { one: 'player', other: 'players' },
  server: { one: 'server', other: 'servers' },
  vacBan: { one: 'VAC ban', other: 'VAC bans' },
  gameBan: { one: 'game ban', other: 'game bans' },
} as const satisfies Record<string, NounForms>;

const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('en')} ${pluralForm('en', amount, NOUNS[noun])}`;
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
          description: 'SteamID64, STEAM_X:Y:Z, [U:1:N] or a Steam profile address',
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
          description: 'SteamID64, STEAM_X:Y:Z, [U:1:N] or a Steam profile address',
        },
        player: { name: 'player', description: 'Nickname of a player seen here before' },
        show: { name: 'show', description: 'Moderators: show the response to everyone in the channel' },
      },
    },
    checkBans: { name: 'Check bans' },
    feed: feedCommandEn,
  },

  server: {
    map: 'Map',
    mode: 'Mode',
    region: 'Region',
    players: 'Players',
    ping: 'Ping',
    milliseconds: (amount: number) => `${amount} ms`,
    address: 'Address',
    updated: (when: string) => `Updated ${when}`,
    offline: 'Offline',
    offlineSince: (when: string) => `Offline, last seen ${when}`,
    neverSeen: 'Offline, never seen online',
    full: ({ players, maxPlayers, since }: FullServer) =>
      `Full: ${players}/${count(maxPlayers, 'player')} since ${since}`,
    notPolled: 'Not polled yet',
    nobody: 'Nobody is playing right now.',
    namesUnknown: 'This server doesn’t share its player list.',
    more: (amount: number) => `… and ${amount.toLocaleString('en')} more`,
    playerCount: (amount: number) => count(amount, 'player'),
    playersOf: (name: string) => `Players on ${name}`,
    chartAlt: ({ peak, peakAt, average, gaps }: ChartFacts) =>
      `Chart of players over the last 24 hours: at most ${peak} (${peakAt}), ${average} on average${gaps ? '; with gaps where the server was offline (they count as 0)' : ''}.`,
    allServers: 'Servers',
    totals: ({ online, servers, players, capacity }: ServerTotals) =>
      `${online.toLocaleString('en')} of ${count(servers, 'server')} online · ${players.toLocaleString('en')}/${count(capacity, 'player')}`,
    presence: (players: number, servers: number) =>
      `${count(players, 'player')} on ${count(servers, 'server')}`,
    none: 'There are no servers yet.',
    choose: 'Choose a server',
    chooseNext: (number: number) => `Choose a server (${number})`,
    noLongerListed: 'This server is no longer listed.',
    live: 'Updates automatically',
    updatesForbidden: (channel: string) =>
      `The live status you pinned in ${channel} no longer updates: I may not edit it. Give me ${postingPermissionsEn} there, then pin it again.`,
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
    server: 'Server',
    allServers: 'all servers',
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
    liftedBy: (admin: string) => `by ${admin}`,
    liftReason: (reason: string) => `“${reason}”`,
    page: ({ page, lastPage, total }: Paging) => `Page ${page} of ${lastPage} · ${count(total, 'penalty')}`,
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

  feed: feedEn,

  buttons: {
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
    account: 'Link my account',
  },

  refusals: {
    serverNotFound: (name: string) => `There is no server **${name}**. Pick one from the list.`,
    notASteamId: (text: string) =>
      `**${text}** isn’t a SteamID. Use a SteamID64 (76561198000000001), STEAM_X:Y:Z, [U:1:N] or the address of a Steam profile.`,
    vanityUnknown: (name: string) => `Steam has no profile **${name}**.`,
    vanityUnavailable:
      'Custom profile addresses can’t be looked up right now. Use the SteamID64, or an address with /profiles/ and a number.',
    notLinkedYourself: 'Your Discord account is not linked to a Steam account yet.',
    notLinkedUser: (mention: string) => `${mention} has no linked Steam account.`,
    playerNotFound: (name: string) =>
      `No player called **${name}** has been seen here. Pick one from the list.`,
    severalPlayers: (name: string) => `Several players are called **${name}**. Which one do you mean?`,
    whomToLookUp: 'Choose a Discord user, enter a SteamID or pick a player.',
    moderateMembersRequired: (banCheck: string) =>
      `Only moderators can check other people. For your own record, run ${banCheck} without options.`,
    notYours: 'These buttons are for the person who asked. Run the command yourself.',
    pinRequiresModerateMembers: 'Only moderators can pin the live status.',
    cannotPost: `I can’t post here. Give me ${postingPermissionsEn} in this channel.`,
    pinned: 'Done. The message below updates automatically; delete it to stop.',
    outdated: 'This message is out of date. Please use the command again.',
    tooFast: (when: string) => `Slow down, please. Try again ${when}.`,
    unavailable: (errorId: string) =>
      `The data can’t be read right now. Please try again in a minute. (Error \`${errorId}\`)`,
    failed: (errorId: string) =>
      `Something went wrong on our side. Please try again; if it happens again, give an admin this error ID: \`${errorId}\``,
  },
};

export type Texts = typeof en;
export type ChartFacts = { peak: string; peakAt: string; average: string; gaps: boolean };
export type ServerTotals = { online: number; servers: number; players: number; capacity: number };
export type FullServer = { players: number; maxPlayers: number; since: string };
export type Paging = { page: number; lastPage: number; total: number };
