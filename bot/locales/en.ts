import type { PenaltyStatus, PenaltyType } from '../../src/penalty.ts';
import { type NounForms, pluralForm } from '../../src/plural.ts';
import { durationInWords } from './duration.ts';

const NOUNS = {
  ban: { one: 'ban', other: 'bans' },
  mute: { one: 'mute', other: 'mutes' },
  gag: { one: 'gag', other: 'gags' },
  silence: { one: 'silence', other: 'silences' },
  warn: { one: 'warning', other: 'warnings' },
  penalty: { one: 'penalty', other: 'penalties' },
  player: { one: 'player', other: 'players' },
  server: { one: 'server', other: 'servers' },
} as const satisfies Record<string, NounForms>;

const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('en')} ${pluralForm('en', amount, NOUNS[noun])}`;
const penaltyTypes: Record<PenaltyType, string> = {
  ban: 'Ban',
  mute: 'Mute',
  gag: 'Gag',
  silence: 'Silence',
  warn: 'Warning',
};
const statuses: Record<PenaltyStatus, string> = { ACTIVE: 'Active', EXPIRED: 'Expired', UNBANNED: 'Lifted' };

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
        show: { name: 'show', description: 'Moderators: show the response to everyone in the channel' },
      },
    },
    lookup: {
      name: 'lookup',
      description: 'Who a member of the community is',
      options: {
        user: { name: 'user', description: 'Discord user; wins when a SteamID is given too' },
        steamid: {
          name: 'steamid',
          description: 'SteamID64, STEAM_X:Y:Z, [U:1:N] or a Steam profile address',
        },
        show: { name: 'show', description: 'Moderators: show the response to everyone in the channel' },
      },
    },
    checkBans: { name: 'Check bans' },
  },

  server: {
    map: 'Map',
    mode: 'Mode',
    region: 'Region',
    players: 'Players',
    ping: 'Ping',
    address: 'Address',
    updated: (when: string) => `Updated ${when}`,
    offline: 'Offline',
    offlineSince: (when: string) => `Offline, last seen ${when}`,
    neverSeen: 'Offline, never seen online yet',
    notPolled: 'Not polled yet',
    nobody: 'Nobody is playing right now.',
    namesUnknown: 'The server does not tell who is playing.',
    more: (amount: number) => `… and ${amount.toLocaleString('en')} more`,
    playerCount: (amount: number) => count(amount, 'player'),
    playersOf: (name: string) => `Players on ${name}`,
    chartAlt: ({ peak, peakAt, average, gaps }: ChartFacts) =>
      `Chart of players over the last 24 hours: at most ${peak} (${peakAt}), ${average} on average${gaps ? '; with gaps where the server was offline' : ''}.`,
    allServers: 'Servers',
    totals: ({ online, servers, players, capacity }: ServerTotals) =>
      `${online.toLocaleString('en')} of ${count(servers, 'server')} online · ${players.toLocaleString('en')}/${count(capacity, 'player')}`,
    none: 'There are no servers yet.',
    choose: 'Choose a server',
    chooseNext: (number: number) => `Choose a server (${number})`,
    noLongerListed: 'This server is no longer listed.',
    live: 'Updated by itself',
  },

  chart: {
    title: 'Players, last 24 hours',
    capacity: 'capacity',
    offline: 'offline',
    peak: (amount: number) => `peak ${amount}`,
  },

  record: {
    title: (name: string) => `Penalties of ${name}`,
    clean: 'No penalties. 🎉',
    nothingMatches: 'No penalty matches these filters.',
    active: (summary: string) => `**Active:** ${summary}`,
    noneActive: '**Active:** none',
    total: (summary: string) => `**On record:** ${summary}`,
    count: (type: PenaltyType, amount: number) => count(amount, type),
    types: penaltyTypes,
    statuses,
    entry: ({ type, id }: { type: PenaltyType; id: number }) => `${penaltyTypes[type]} #${id}`,
    reason: 'Reason',
    noReason: 'no reason given',
    admin: 'Admin',
    console: 'Console',
    server: 'Server',
    allServers: 'all servers',
    duration: 'Duration',
    durationInWords: (minutes: number) => durationInWords('en', minutes),
    permanent: 'permanent',
    issued: 'Issued',
    ends: 'Ends',
    ended: 'Ended',
    never: 'never',
    lifted: 'Lifted',
    liftedBy: (admin: string) => `by ${admin}`,
    page: ({ page, lastPage, total }: Paging) => `Page ${page} of ${lastPage} · ${count(total, 'penalty')}`,
    filterType: 'Filter by type',
    filterStatus: 'Filter by status',
    everyType: 'All types',
    everyStatus: 'All statuses',
  },

  user: {
    steamId: 'SteamID64',
    otherNotations: 'Other notations',
    accountId: 'Account id',
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
  },

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
    profile: 'Steam profile',
    account: 'Link my account',
  },

  refusals: {
    serverNotFound: (name: string) => `There is no server **${name}**. Pick one from the list.`,
    notASteamId: (text: string) =>
      `**${text}** is not a SteamID. Give a SteamID64 (76561198000000001), STEAM_X:Y:Z, [U:1:N] or the address of a Steam profile.`,
    vanityUnknown: (name: string) => `Steam knows no profile **${name}**.`,
    vanityUnavailable:
      'The custom address of a profile cannot be looked up right now. Give the SteamID64 or an address with /profiles/ and a number.',
    notLinkedYourself: 'Your Discord account is not linked to a Steam account yet.',
    notLinkedUser: (mention: string) => `${mention} has no linked Steam account.`,
    userNotFound: 'No member of the community matches.',
    userOrSteamId: 'Give a Discord user or a SteamID.',
    moderateMembersRequired:
      'Only moderators may look at other people. Your own record: `/ban-check` without options.',
    notYours: 'These buttons are for the person who asked. Use the command yourself.',
    pinRequiresModerateMembers: 'Only moderators may pin the live status.',
    cannotPost:
      'I may not send messages here. Give me “View Channel”, “Send Messages” and “Embed Links” in this channel.',
    pinned: 'Done: the message below keeps itself up to date. Delete it to stop.',
    outdated: 'This message is out of date. Please use the command again.',
    tooFast: (when: string) => `Slow down, please. Try again ${when}.`,
    unavailable: (errorId: string) =>
      `The data cannot be read right now. Please try again in a minute. (Error \`${errorId}\`)`,
    failed: (errorId: string) =>
      `Something went wrong on our side. Please try again; if it happens again, tell an admin this error id: \`${errorId}\``,
  },
};

export type Texts = typeof en;
export type ChartFacts = { peak: string; peakAt: string; average: string; gaps: boolean };
export type ServerTotals = { online: number; servers: number; players: number; capacity: number };
export type Paging = { page: number; lastPage: number; total: number };
