import type { FeedSubject } from '../../src/domain/discord-feed.ts';
import { type NounForms, pluralForm } from '../../src/domain/text/plural.ts';

const NOUNS = {
  newPenalty: { one: 'new penalty', other: 'new penalties' },
  server: { one: 'server', other: 'servers' },
  player: { one: 'player', other: 'players' },
} as const satisfies Record<string, NounForms>;
const count = (amount: number, noun: keyof typeof NOUNS): string =>
  `${amount.toLocaleString('en')} ${pluralForm('en', amount, NOUNS[noun])}`;
const subjects: Record<FeedSubject, string> = { penalties: 'Penalties', servers: 'Servers' };
/** Before the word "feed". */
const nameOf: Record<FeedSubject, string> = { penalties: 'penalty', servers: 'server' };
const permissions: Record<BotPermission, string> = {
  viewChannel: 'View Channel',
  sendMessages: 'Send Messages',
  sendMessagesInThreads: 'Send Messages in Threads',
  embedLinks: 'Embed Links',
};
/** The permissions needed to post messages with embeds. */
export const postingPermissionsEn = `“${permissions.viewChannel}”, “${permissions.sendMessages}” (in a thread “${permissions.sendMessagesInThreads}”) and “${permissions.embedLinks}”`;

/** The permissions that a feed needs in its channel. */
export type BotPermission = 'viewChannel' | 'sendMessages' | 'sendMessagesInThreads' | 'embedLinks';

/** `/feed` in English. */
export const feedCommandEn = {
  name: 'feed',
  description: 'Post penalty or server updates in this channel as they happen',
  start: {
    name: 'start',
    description: 'Post updates in this channel from now on',
    options: {
      what: { name: 'what', description: 'What to post about' },
      types: { name: 'types', description: 'Penalties: only these types, such as ban, mute' },
      server: { name: 'server', description: 'Only this server' },
      players: { name: 'players', description: 'Servers: post when a server has this many players' },
      role: { name: 'role', description: 'Servers: the role to mention when it does' },
    },
  },
  list: { name: 'list', description: 'The feeds of this Discord server' },
  stop: {
    name: 'stop',
    description: 'Stop a feed in this channel',
    options: { what: { name: 'what', description: 'Which feed' } },
  },
};

/** What feeds post, and what `/feed` responds, in English. */
export const feedEn = {
  subjects,
  player: 'Player',
  unknownPlayer: 'unknown player',
  summaryTitle: (amount: number) => count(amount, 'newPenalty'),
  summary: ({ since, counts }: { since: string; counts: string }) =>
    `${counts}\nThe first came ${since}. There were too many to post one by one.`,
  lastSeen: (when: string) => `Last seen ${when}`,
  down: (name: string) => `${name} is offline`,
  downMany: (amount: number) => `${count(amount, 'server')} offline`,
  up: (name: string) => `${name} is back online`,
  upMany: (amount: number) => `${count(amount, 'server')} back online`,
  reached: ({ amount, name }: { amount: number; name: string }) => `${count(amount, 'player')} on ${name}`,
  reachedMany: 'Players wanted: these servers are filling up',

  started: ({ subject, stop }: { subject: FeedSubject; stop: string }) =>
    `Done. This channel now gets updates on ${subject}; ${stop} ends them.`,
  changed: (subject: FeedSubject) =>
    `Done. The ${nameOf[subject]} feed in this channel now has these settings:`,
  stopped: (subject: FeedSubject) => `Done. This channel no longer gets updates on ${subject}.`,
  listTitle: 'Feeds',
  none: (start: string) => `There are no feeds yet. Start one with ${start}.`,
  allTypes: 'all types',
  allServers: 'all servers',
  playersAtLeast: (amount: number) => `${count(amount, 'player')} or more`,
  more: (amount: number) => `… and ${amount.toLocaleString('en')} more`,
  startedBy: (mention: string) => `started by ${mention}`,
  lacksHere: (permissions: string) => `I’m missing permissions in this channel: ${permissions}.`,
  permissions,

  manageGuildRequired: 'Only members with “Manage Server” can set up feeds.',
  cannotPost: (permissions: string) =>
    `I can’t post here. Give me these permissions in this channel: ${permissions}.`,
  cannotMention: (role: string) =>
    `I can’t mention ${role}. Allow anyone to mention it, or give me “Mention @everyone, @here, and All Roles” in this channel.`,
  notEveryone: 'A feed mentions one role, never everyone. Choose another role.',
  unknownType: ({ text, allowed }: { text: string; allowed: string }) =>
    `**${text}** isn’t a type of penalty. The types are: ${allowed}.`,
  forPenaltiesOnly: 'The option `types` is for penalties. Leave it out, or choose penalties.',
  forServersOnly: 'The options `players` and `role` are for servers. Leave them out, or choose servers.',
  roleNeedsPlayers: 'The option `role` needs `players`: how many players it takes to mention it.',
  noSuchFeed: (subject: FeedSubject) => `This channel has no ${nameOf[subject]} feed.`,

  switchedOff: ({ subject, channel, reason }: { subject: FeedSubject; channel: string; reason: string }) =>
    `The ${nameOf[subject]} feed in ${channel} has been switched off. ${reason}`,
  channelGone: (start: string) =>
    `The channel no longer exists. You can start the feed in another one with ${start}.`,
  permissionLost: (start: string) =>
    `I can no longer post there. Give me ${postingPermissionsEn} there, then start the feed again with ${start}.`,
};

export type FeedTexts = typeof feedEn;
