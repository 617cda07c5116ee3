import { plural } from '../locale.ts';

/** The profile card. */
export const account = {
  title: 'Account',
  steamId: 'SteamID64',
  accountId: 'Account ID',
  memberSince: 'Member since',
  steamProfile: 'Steam profile',
  badges: {
    isOwner: 'Owner',
    isAdmin: 'Admin',
    isModerator: 'Moderator',
    hasSvip: 'SVIP',
    isServiceplus: 'Premium',
  },
  /** Where a flag comes from. */
  flagSources: {
    hand: 'by hand',
    configuration: 'configuration of this site',
    simpleadmin: 'CS2-SimpleAdmin',
    sourcebans: 'SourceBans++',
    iks: 'IKS Admin',
    vipcore: 'VIPCore',
    discord: 'Discord role',
  },
  /** Before a date. */
  until: 'until',
  onThisPage: 'On this page',
};

/** API tokens. */
export const tokens = {
  title: 'API tokens',
  lead: 'A token lets a program use the protected part of the API on your behalf. Treat it like a password.',
  count: (live: number, most: number) => `${live} of ${most} in use`,
  none: 'You have no tokens yet. Create one to make your first request.',
  noneYet: 'You have no tokens.',
  forAdmins: 'Only administrators can create API tokens here.',
  name: 'Name',
  nameHint: 'What it is for, e.g. “stats website”',
  expiry: 'Expires',
  expiries: { '7': 'In 7 days', '30': 'In 30 days', '90': 'In 90 days', '365': 'In 1 year', never: 'Never' },
  scopes: 'What it may read',
  scopeNames: {
    servers: 'servers: server events',
    penalties: 'penalties: lists, exports and changes',
    lookup: 'lookup: player profiles',
    events: 'events: live events',
  },
  allScopes: 'Everything',
  create: 'Create token',
  full: (most: number) =>
    `You have ${most} active tokens, which is the maximum. Revoke one you no longer need to make room.`,
  columns: {
    name: 'Name',
    token: 'Token',
    scopes: 'May read',
    created: 'Created',
    used: 'Last used',
    expires: 'Expires',
  },
  endsWith: 'ends in',
  neverUsed: 'Never',
  noExpiry: 'Never',
  revoke: 'Revoke',
  revokeNamed: (name: string) => `Revoke ${name}`,
  createdTitle: 'Your new token',
  createdLead: (name: string) => `“${name}” is ready.`,
  shownOnce:
    'Copy it now: it is shown only once. We store just a hash of it, so nobody can show it to you again.',
  tryIt: 'Try it',
  tokenLabel: 'API token',
  curlLabel: 'Command for your terminal',
  done: 'Done, I have copied it',
  revokeTitle: 'Revoke this token?',
  revokeLead: (name: string, lastFour: string) =>
    `Programs that use “${name}” (…${lastFour}) will stop working immediately. This cannot be undone.`,
};

/** The Discord link. */
export const discord = {
  title: 'Discord',
  lead: 'Link your Discord account so the bot and the API know it is you. We only read your ID, name and avatar.',
  link: 'Link Discord',
  notSetUp: 'Linking is not available on this site yet.',
  linkedAs: 'Linked as',
  relink: 'Refresh',
  unlink: 'Unlink',
  isShown: 'People with an API token and moderators on Discord can see which account is yours.',
  isHidden: 'Only you, administrators and moderators on Discord can see which account is yours.',
  hide: 'Hide the link',
  show: 'Show the link',
  unlinkTitle: 'Unlink Discord?',
  unlinkLead: (name: string, canLinkAgain: boolean) =>
    `The bot and the API will no longer know that ${name} is you. ${
      canLinkAgain ? 'You can link again at any time.' : 'Only the operator of this site can link you again.'
    }`,
};

/** How many days a session lasts without a visit, and at most. */
type SessionDays = { unused: number; most: number };

/** The sessions card. */
export const sessions = {
  title: 'Sessions',
  count: (open: number) => plural('en', open, { one: 'session', other: 'sessions' }),
  lead: ({ unused, most }: SessionDays) =>
    `You are signed in on these devices. A session ends automatically ${unused} days after your last visit, and ${most} days after you signed in at the latest.`,
  columns: { device: 'Device', seen: 'Last visit', created: 'Signed in' },
  device: (browser: string | null, system: string | null) =>
    browser && system ? `${browser} on ${system}` : (browser ?? system ?? 'Unknown device'),
  current: 'This one',
  end: 'End',
  endNamed: (device: string, signedIn: string) => `End the session: ${device}, signed in ${signedIn}`,
  signOut: 'Sign out',
  signOutEverywhere: 'Sign out everywhere',
};

/** The data card. */
export const data = {
  title: 'Your data',
  lead: 'Download everything we keep about you, or delete your account.',
  download: 'Download my data',
  remove: 'Delete my account',
  removeTitle: 'Delete your account?',
  removeLead:
    'Your tokens, sessions, Discord link and sound are deleted immediately. Your penalties stay. This cannot be undone.',
};
