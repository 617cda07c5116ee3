import type { PenaltyStatus, PenaltyType } from '../../../../src/domain/penalty.ts';
import type { SoundGroup } from '../../../../src/domain/rights/sound-audience.ts';
import {
  RENDER_TIMEOUT_SECONDS,
  type RoundSoundFailure,
  type RoundSoundStatus,
} from '../../../../src/domain/round-sound.ts';
import { durationInWords } from '../../../../src/domain/text/duration.ts';
import { pluralForm } from '../../../../src/domain/text/plural.ts';
import { plural } from './locale.ts';

const statuses: Record<PenaltyStatus, string> = { ACTIVE: 'Active', EXPIRED: 'Expired', UNBANNED: 'Lifted' };

const players = (count: number) => plural('en', count, { one: 'player', other: 'players' });

/** Every sentence of the pages in English. */
export const en = {
  /** The parts around the content of every page. */
  shell: {
    /** Shown to readers of the other languages. */
    switchToThis: 'Switch to English',
    skipToContent: 'Skip to content',
    contents: 'Contents',
    nav: {
      label: 'Main',
      servers: 'Servers',
      penalties: 'Penalties',
      moderation: 'Moderation',
      docs: 'API reference',
      account: 'Account',
      signIn: 'Sign in',
      signOut: 'Sign out',
    },
    unknownNickname: 'Player',
    page: (page: number, last: number) => `Page ${page} of ${last}`,
    previous: 'Previous',
    next: 'Next',
    cancel: 'Cancel',
    copy: 'Copy',
    copied: 'Copied',
    footer: 'Not affiliated with Valve or Discord.',
  },

  /** The page of a visitor who is not signed in. */
  signIn: {
    title: 'Sign in',
    heading: 'Your penalties, your sound, your account',
    lead: 'Sign in with the Steam account you play on. We get your SteamID and public name, never your password.',
    button: 'Sign in through Steam',
    misleads: (address: string) =>
      `You cannot sign in at this address, because Steam would send you back to ${address}. If you run this site, set PUBLIC_URL to the address that people open.`,
    demo: {
      title: 'Look around as…',
      lead: 'This is a demo: everyone here is made up, and you don’t need a Steam account.',
      as: {
        owner: 'Sign in as owner',
        admin: 'Sign in as admin',
        moderator: 'Sign in as moderator',
        member: 'Sign in as member',
      },
    },
    points: {
      penalties: ['Penalties', 'See what each one is for, who issued it and when it ends.'],
      appeals: [
        'Penalties and appeals',
        'See what each one is for, who issued it and when it ends, and appeal.',
      ],
      sound: ['Round-end sound', 'Choose what everyone hears when you are the MVP of a round.'],
      discord: ['Discord', 'Link your account so the bot knows who you are in game.'],
      tokens: ['API tokens', 'Use server, penalty and player data on your own site or in a script.'],
    } satisfies Record<string, [title: string, text: string]>,
  },

  /** The profile card. */
  account: {
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
      hand: 'set here',
      configuration: 'configuration of this site',
      simpleadmin: 'CS2-SimpleAdmin',
      sourcebans: 'SourceBans++',
      iks: 'IKS Admin',
      vipcore: 'VIPCore',
      discord: 'Discord role',
    },
    /** Before when a flag ends. */
    until: 'until',
    onThisPage: 'On this page',
  },

  /** API tokens. */
  tokens: {
    title: 'API tokens',
    lead: 'A token lets a program use the protected part of the API on your behalf. Treat it like a password.',
    count: (live: number, most: number) => `${live} of ${most} in use`,
    none: 'You have no tokens yet. Create one to make your first request.',
    forAdmins: 'Only administrators can create API tokens here.',
    name: 'Name',
    nameHint: 'What it is for, e.g. “stats website”',
    expiry: 'Expires',
    expiries: {
      '7': 'In 7 days',
      '30': 'In 30 days',
      '90': 'In 90 days',
      '365': 'In 1 year',
      never: 'Never',
    },
    scopes: 'What it may read',
    scopeNames: {
      servers: 'servers: server events',
      penalties: 'penalties: lists, exports and changes',
      lookup: 'lookup: player profiles',
      events: 'events: live events',
    },
    allScopes: 'Everything',
    create: 'Create token',
    columns: {
      token: 'Token',
      scopes: 'May read',
      created: 'Created',
      used: 'Last used',
      expires: 'Expires',
    },
    endsWith: 'ends in',
    never: 'Never',
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
  },

  /** The Discord link. */
  discord: {
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
        canLinkAgain
          ? 'You can link again at any time.'
          : 'Only the operator of this site can link you again.'
      }`,
  },

  /** The sessions card. */
  sessions: {
    title: 'Sessions',
    count: (open: number) => plural('en', open, { one: 'session', other: 'sessions' }),
    lead: ({ unused, most }: { unused: number; most: number }) =>
      `You are signed in on these devices. A session ends automatically ${unused} days after your last visit, and ${most} days after you signed in at the latest.`,
    columns: { device: 'Device', seen: 'Last visit', created: 'Signed in' },
    device: (browser: string | null, system: string | null) =>
      browser && system ? `${browser} on ${system}` : (browser ?? system ?? 'Unknown device'),
    current: 'This one',
    end: 'End',
    endNamed: (device: string, signedIn: string) => `End the session: ${device}, signed in ${signedIn}`,
    signOutEverywhere: 'Sign out everywhere',
  },

  /** The data card. */
  data: {
    title: 'Your data',
    lead: 'Download everything we keep about you, or delete your account.',
    download: 'Download my data',
    remove: 'Delete my account',
    removeTitle: 'Delete your account?',
    removeLead:
      'Your tokens, sessions, Discord link and sound are deleted immediately. Your penalties stay. This cannot be undone.',
  },

  /** Penalties on the account page, the moderation pages and the public list. */
  penalties: {
    own: 'Your penalties',
    clean: 'No penalties.',
    noneActive: 'No active penalties.',
    count: (total: number) => plural('en', total, { one: 'penalty', other: 'penalties' }),
    types: {
      ban: 'Ban',
      mute: 'Mute',
      gag: 'Gag',
      silence: 'Silence',
      warn: 'Warning',
    } satisfies Record<PenaltyType, string>,
    /** What an active penalty does to a player; followed by until when. */
    inForce: {
      ban: 'Banned',
      mute: 'Voice muted',
      gag: 'Chat muted',
      silence: 'Voice and chat muted',
      warn: 'Warned',
    } satisfies Record<PenaltyType, string>,
    until: (_type: PenaltyType): string => 'until',
    ends: 'ends',
    permanently: (_type: PenaltyType): string => 'permanently',
    permanent: (_type: PenaltyType): string => 'permanent',
    /** Of the time of an active penalty. */
    left: (time: string) => `${time} left`,
    /** For a penalty that counts down only while the player is online; shown in place of its end. */
    forOnlineTime: (minutes: number) => `for ${durationInWords('en', minutes)} of playing time`,
    /** The choices of the filter. */
    statuses,
    /** The status after its penalty's type, in another column; in some languages it agrees with the type's gender. */
    statusOf: (_type: PenaltyType, status: PenaltyStatus): string => statuses[status],
    appeal: 'Appeal',
    ended: 'Ended penalties',
    columns: {
      player: 'Player',
      status: 'Status',
      type: 'Penalty',
      reason: 'Reason',
      admin: 'Admin',
      server: 'Server',
      duration: 'Duration',
      issued: 'Issued',
      end: 'Ended',
    },
    search: 'Name or SteamID',
    find: 'Search',
    everyType: 'All types',
    everyStatus: 'All statuses',
    severalPlayers: 'Several players match. Which one do you mean?',
    nothingFound: 'No results.',
    customAddress:
      'Custom profile addresses cannot be searched for here. Enter the player’s name or SteamID.',
    unknownPlayer: 'Unknown player',
    noReason: 'No reason given',
    console: 'Console',
    unnamedAdmin: 'Unnamed admin',
    /** In place of the name of an admin who was erased. */
    formerAdmin: 'Former admin',
    allServers: 'All servers',
    noServer: 'No server',
    /** After when a penalty was lifted. */
    by: (lifter: string) => `by ${lifter}`,
    /** Follows that. */
    liftedBecause: (reason: string) => ` (“${reason}”)`,
  },

  /** The round-end sound: its card, and the list of all sounds for moderation. */
  roundSound: {
    title: 'Round-end sound',
    lead: ({ seconds, megabytes }: { seconds: number; megabytes: number }) =>
      `Everyone on the server hears it when you are the MVP of a round. We keep up to ${pluralForm('en', seconds, { one: 'a second', other: `${seconds} seconds` })} from the start you choose, trim the silence around it and make all players’ sounds equally loud. MP3, WAV, FLAC, OGG, Opus, M4A, AAC, AIFF, WebM or MP4, up to ${megabytes} MB.`,
    none: 'You don’t have a round-end sound yet. Choose a file for everyone to hear.',
    choose: 'Choose a file',
    replace: 'Choose another file',
    noFile: 'No file chosen',
    reading: 'Reading the file …',
    start: 'Start at (minutes:seconds)',
    startHint: 'Counted from the start of the file, for example 1:07 or 1:07.5.',
    startMarker: 'Start of the cut',
    play: 'Play from here',
    stop: 'Stop',
    upload: 'Upload',
    uploading: 'Uploading…',
    uploadFailed: 'The upload failed. Check your connection and try again.',
    refusedByProxy:
      'A web server in front of this site refuses files of this size, though the site itself would take it. Please tell its operator.',
    tooLarge: (megabytes: number) => `This file is larger than ${megabytes} MB. Choose a smaller one.`,
    onlyFor: (groups: string) => `Only ${groups} can have a round-end sound here.`,
    groups: {
      svip: 'SVIP',
      serviceplus: 'Premium',
      admin: 'administrators',
    } satisfies Record<SoundGroup, string>,
    keptUnheard: 'Your sound is kept, but it is not played until you can have one again.',
    playerLabel: (title: string) => `Play ${title}`,
    waveformLabel: 'Waveform of the sound',
    facts: {
      length: 'Length',
      before: 'Original loudness',
      since: 'In use since',
    },
    seconds: (seconds: string) => `${seconds} s`,
    loudness: (lufs: string) => `${lufs} LUFS`,
    loudnessWords: {
      muchTooQuiet: 'far too quiet',
      tooQuiet: 'too quiet',
      right: 'about right',
      tooLoud: 'too loud',
      muchTooLoud: 'far too loud',
    },
    remove: 'Delete',
    removeTitle: 'Delete your sound?',
    removeLead: (title: string) => `“${title}” will no longer be played and cannot be restored.`,
    underWay: (title: string) => `“${title}” is being processed`,
    stillPlaying: 'Your current sound stays in use until it is ready.',
    steps: {
      queued: 'Queued',
      measuring: 'Measuring',
      rendering: 'Processing',
      ready: 'Ready',
    } satisfies Record<Exclude<RoundSoundStatus, 'failed'>, string>,
    refresh: 'Check progress',
    failed: (title: string) => `“${title}” could not be processed`,
    dismiss: 'Dismiss',
    keptOld: 'Your current sound stays in use.',
    failures: {
      'not-audio': 'This is not an audio file we can use. Try MP3, WAV, FLAC, OGG, M4A or MP4.',
      unreadable:
        'The file is damaged or has no sound in it. Try exporting it again from the program it was made with.',
      silent: 'Nothing can be heard in the first 75 seconds: the file is silent or far too quiet.',
      'start-after-end': 'Nothing can be heard after the start you chose. Choose an earlier one.',
      'too-complex': 'This file takes too much time or memory to process. Try a shorter one.',
      'timed-out': `Processing took longer than ${RENDER_TIMEOUT_SECONDS} seconds, three times. The site is busy: please try again later.`,
      unavailable: 'Something went wrong on our side. Please upload it again later.',
      lost: 'We lost the file. Please upload it again.',
    } satisfies Record<RoundSoundFailure, string>,
    moderation: {
      count: (count: number) => `Sounds: ${count}`,
      none: 'No sounds.',
      columns: { title: 'Title', state: 'State', listen: 'Listen', since: 'Since' },
      failed: 'Failed',
      kept: 'Kept, not played',
      removeNamed: (title: string) => `Remove ${title}`,
      removeTitle: 'Remove this sound?',
      removeLead: (title: string, player: string) =>
        `“${title}” and any other sound of ${player}, published or being processed, will be removed.`,
    },
  },

  /** The pages for administrators; those for moderators too are in `records`. */
  moderation: {
    title: 'Moderation',
    tabs: {
      users: 'Users',
      penalties: 'Penalties',
      admins: 'Admins',
      sounds: 'Sounds',
      webhooks: 'Webhooks',
      audit: 'Audit log',
    },
    held: {
      title: 'Removals held back',
      lead: 'A source suddenly has much less than before, perhaps by mistake, so what it lacks is kept here. It is removed after six hours if the source still lacks it then, or at once with: bun run cli mirrors accept NAME',
      columns: { name: 'Name', what: 'What', removals: 'Missing', since: 'Since' },
    },
    searchHint:
      'SteamID in any notation, profile address, account ID, Discord ID or @name, or a current or former nickname',
    found: (total: number) => plural('en', total, { one: 'user', other: 'users' }),
    anyAction: 'Any action',
    day: (timeZone: string) => `Day (${timeZone})`,
    anyFlag: 'Any',
    unresolved:
      'Custom profile addresses need a Steam Web API key (STEAM_API_KEY) and Steam’s response. Enter the SteamID instead.',
    noAccount: 'This player has never signed in.',
    playersWithoutAccount: 'Players without an account',
    columns: {
      penalties: 'Penalties',
      seen: 'Last seen',
      user: 'User',
      tokens: 'Tokens',
      joined: 'Joined',
    },
    noDiscord: 'not linked',
    noTokens: 'No tokens.',
    tokenState: { live: 'active', expired: 'expired', revoked: 'revoked' },
    state: 'State',
    flags: 'Flags',
    flagNames: {
      isAdmin: 'Admin: can open these pages and revoke any token',
      isOwner: 'Owner: can change these flags',
      isModerator: 'Moderator: can read penalties and players’ records here',
    },
    laterFlags: 'They will have these flags when they sign in.',
    byHand: 'A ticked box sets the flag here. What other sources give stays.',
    ownOwner: 'You cannot remove your own owner flag; another owner can.',
    ownersOnly: 'Only owners can change flags.',
    save: 'Save flags',
    block: {
      title: 'Block from this site',
      lead: 'Tokens and sessions stop working at once; signing in and uploading are refused. The sound stays.',
      reasonHint: 'Shown to the user when they try to sign in.',
      block: 'Block from this site',
      since: 'Blocked since',
      unblock: 'Unblock',
      owner: 'Owners cannot be blocked.',
      self: 'You cannot block yourself.',
      badge: 'Blocked',
    },
    auditColumns: { at: 'When', who: 'Who', what: 'What', whom: 'Target', details: 'Details' },
    /** Values of details that are true or false, such as flags. */
    booleans: { true: 'yes', false: 'no' },
    /** The value of `expires` for a token that does not. */
    neverExpires: 'never',
    detailLabels: {
      name: 'name',
      noteId: 'note',
      tokenId: 'token ID',
      expiresAt: 'expires',
      scopes: 'scopes',
      discordId: 'Discord ID',
      username: 'Discord name',
      sessions: 'sessions',
      browser: 'browser',
      system: 'system',
      title: 'title',
      address: 'address',
      mode: 'mode',
      region: 'region',
      nickname: 'nickname',
      discordUsername: 'Discord name',
      discordAvatar: 'Discord avatar',
      penalties: 'penalties',
      hidesDiscord: 'hides Discord',
      source: 'source',
      types: 'events',
      reason: 'reason',
      messageId: 'webhook-id',
      feed: 'feed',
      wrong: 'wrong totals',
      read: 'read',
      added: 'added',
      changed: 'changed',
      gone: 'gone at the source',
      held: 'held back',
      setAside: 'set aside',
      serversAdded: 'servers added',
    },
    actors: {
      operator: 'operator',
      configuration: 'configuration',
      service: 'the service',
      member: 'former member',
      'discord-member': 'Discord member',
    },
    erasedPlayer: 'erased player',
    actions: {
      'user.created': 'created an account',
      'user.signed-in': 'signed in',
      'user.signed-out-everywhere': 'signed out everywhere',
      'user.session-ended': 'ended a session',
      'user.flags-set': 'set flags',
      'user.changed': 'changed a user',
      'user.blocked': 'blocked a user',
      'user.unblocked': 'unblocked a user',
      'user.exported': 'downloaded a user’s data',
      'user.deleted': 'a member deleted their account',
      'user.erased': 'erased a player',
      'token.created': 'created a token',
      'token.revoked': 'revoked a token',
      'note.added': 'added a staff note',
      'note.deleted': 'deleted a staff note',
      'discord.linked': 'linked Discord',
      'discord.unlinked': 'unlinked Discord',
      'discord.hidden': 'hid their Discord account',
      'discord.shown': 'showed their Discord account',
      'sound.uploaded': 'uploaded a sound',
      'sound.removed': 'removed a sound',
      'server.added': 'added a server',
      'server.removed': 'removed a server',
      'server.changed': 'changed a server',
      'server.shown': 'showed a server',
      'server.hidden': 'hid a server',
      'penalties.imported': 'imported penalties',
      'webhook.added': 'added a webhook',
      'webhook.removed': 'removed a webhook',
      'webhook.enabled': 'switched a webhook on',
      'webhook.switched-off': 'switched a webhook off',
      'webhook.tested': 'tested a webhook',
      'webhook.resent': 'resent a webhook message',
      'feed.started': 'started a Discord feed',
      'feed.changed': 'changed a Discord feed',
      'feed.stopped': 'stopped a Discord feed',
      'feed.paused': 'paused a Discord feed',
      'feed.switched-off': 'switched a Discord feed off',
      'live-message.posted': 'posted a live status message on Discord',
      'live-message.dropped': 'stopped updating a live status message',
      'penalties.recounted': 'recounted penalty totals',
      'removals.accepted': 'accepted removals that were held back',
    },
  },

  /** The pages for moderators: penalties, admins, and what players' records add for them. */
  records: {
    /** Fields of the filter. */
    player: 'Player: name or SteamID',
    admin: 'Admin: name or SteamID',
    more: 'More filters',
    types: 'Types',
    everyServer: 'Any server',
    createdFrom: (timeZone: string) => `Issued from (day in ${timeZone})`,
    createdTo: (timeZone: string) => `Issued until (day in ${timeZone})`,
    reason: 'Reason contains',
    sort: 'Order',
    sorts: {
      '-created': 'Newest first',
      created: 'Oldest first',
      ends: 'Ending first',
      '-ends': 'Ending last',
    },
    fromAfterTo: 'The first day is after the last one.',
    reasonTooShort: 'Enter at least three characters of the reason.',
    severalAdmins: 'Several admins match. Which one do you mean?',
    recordOf: (name: string) => `Record of ${name}`,
    /** A penalty's page. */
    penalty: {
      duration: 'Duration',
      ends: 'Ends',
      ended: 'Ended',
      lifted: 'Lifted',
      liftedBy: 'Lifted by',
      liftReason: 'Reason for lifting',
      notRecorded: 'Not recorded',
      source: 'Source',
      noSource: 'None',
      removed: 'Removed at the source',
      panel: 'Open in the ban panel',
    },
    adminsLead: 'Penalties issued in the last 7 · 30 · 90 days, and how many of them have been lifted since.',
    all: 'All',
    lifted: 'Lifted',
    noAdmins: 'Nobody has issued a penalty in the last 90 days.',
    unknownAdmins: 'Console and unknown admins',
    penaltiesBy: 'Penalties they issued',
    steamAccount: 'Steam account since',
    formerNames: 'Names used before',
    steamBans: {
      title: 'Steam bans',
      none: 'none',
      unknown: 'not known right now',
      vac: (amount: number) => plural('en', amount, { one: 'VAC ban', other: 'VAC bans' }),
      game: (amount: number) => plural('en', amount, { one: 'game ban', other: 'game bans' }),
      community: 'community ban',
      last: (when: string) => `last one ${when}`,
    },
    notes: {
      title: 'Staff notes',
      none: 'No notes.',
      newNote: 'New note',
      hint: (most: number) =>
        `At most ${most} characters. Only moderators and admins of this site see notes. They are personal data: players find its text and time in the download of their data, without your name, and erasing the player deletes it.`,
      add: 'Add note',
      deleteNumbered: (id: number) => `Delete note ${id}`,
      deleteTitle: 'Delete this note?',
    },
  },

  /** Webhooks, for administrators. */
  webhooks: {
    lead: 'Each of these addresses is notified whenever a penalty changes. Messages are signed (Standard Webhooks).',
    none: 'No webhooks yet.',
    columns: { url: 'Address', types: 'Events', state: 'State', added: 'Added' },
    allTypes: 'all about penalties',
    typeNames: {
      'penalty.created': 'penalty.created: a new penalty',
      'penalty.changed': 'penalty.changed: its details changed',
      'penalty.lifted': 'penalty.lifted: someone lifted it early',
      'penalty.expired': 'penalty.expired: its time ran out',
      'penalty.removed': 'penalty.removed: it was removed at its source',
    },
    states: {
      on: 'on',
      off: 'switched off',
      failing: (attempts: number) =>
        plural('en', attempts, { one: 'failed attempt', other: 'failed attempts' }),
      next: (at: string) => `next attempt: ${at}`,
      reasons: { failing: 'failed for 24 hours', gone: 'the address responded 410 (gone)' },
    },
    urlHint:
      'An https address on the internet. Other networks must be allowed by the operator (WEBHOOK_ALLOW).',
    add: 'Add webhook',
    addedTitle: 'Webhook added',
    addedLead: 'This address will be notified from now on. The receiver needs the secret to verify messages.',
    shownOnce: 'Copy the secret now. It is not shown again.',
    secret: 'Webhook secret',
    done: 'Done',
    titleOf: (id: number) => `Webhook ${id}`,
    test: 'Send a test',
    retry: 'Try again now',
    enable: 'Switch on',
    remove: 'Remove',
    removeTitle: 'Remove this webhook?',
    removeLead: (url: string) =>
      `${url} will get no more messages, and its list of deliveries will be deleted.`,
    deliveries: 'Deliveries',
    kept: (count: number) => `The last ${count} attempts, newest first.`,
    noDeliveries: 'Nothing has been sent yet.',
    deliveryColumns: {
      type: 'Event',
      result: 'Result',
      at: 'When',
      duration: 'Duration',
      messageId: 'webhook-id',
    },
    failures: {
      timeout: 'no response in 10 s',
      'address-refused': 'address not allowed',
      'name-unresolved': 'host name not found',
      tls: 'certificate not trusted',
      unreachable: 'no connection',
    },
    resend: 'Send again',
    resendNamed: (messageId: string) => `Send again: ${messageId}`,
  },

  /** The status page. */
  status: {
    /** The description in link previews. */
    summary: (online: number, all: number, playing: number) =>
      `${online} of ${plural('en', all, { one: 'server', other: 'servers' })} online, ${players(playing)} in game`,
    allOnline: 'All servers are online',
    someOffline: (offline: number) =>
      plural('en', offline, { one: 'server is offline', other: 'servers are offline' }),
    someUnchecked: (unchecked: number) =>
      plural('en', unchecked, {
        one: 'server has not been checked yet',
        other: 'servers have not been checked yet',
      }),
    allOffline: 'All servers are offline',
    numbers: { players: 'Players now', online: 'Servers online', peak: '24-hour peak' },
    updated: 'Updated',
    updatesAutomatically: 'Updates automatically',
    lostConnection: 'Connection lost, trying again. You see the last known state.',
    none: 'No servers yet',
    noneLead: 'Game servers appear here seconds after they are added, and everyone can see who is playing.',
    noneHow: 'If you run this site, add the first one on the machine where it runs:',
    addCommand: 'Command that adds a server',
    states: { online: 'Online', offline: 'Offline', full: 'Full', unknown: 'Not checked yet' },
    lastSeen: 'last seen',
    /** Before a time: of one server, and of all. */
    uncheckedSince: 'not checked since',
    allUncheckedSince: 'Not checked since',
    unchecked: 'Not checked',
    neverSeen: 'never seen online',
    map: 'Map',
    mode: 'Mode',
    region: 'Region',
    ping: 'Server ping',
    pingHint: 'measured by this site',
    milliseconds: (ms: number) => `${ms} ms`,
    playersOf: (now: number, most: number) => (most > 0 ? `${now} of ${most} players` : players(now)),
    peakOf: (peak: number) => `24-hour peak: ${peak}`,
    noHistory: 'No history yet',
    connect: 'Connect',
    address: (name: string) => `address of ${name}`,
  },

  /** The page of one server. */
  server: {
    playersNow: 'Players now',
    score: 'Score',
    time: 'Time on server',
    nobody: 'Nobody is playing right now.',
    namesUnknown: 'This server doesn’t share its player list.',
    moreUnnamed: (count: number) =>
      `and ${plural('en', count, { one: 'player', other: 'players' })} without a name`,
    whileOffline: 'The server is offline right now.',
    history: 'Players over time',
    ranges: { day: '24 hours', week: '7 days', month: '30 days' },
    chartTitle: (name: string, range: string) => `${name}: players over the last ${range}`,
    chartSummary: (average: string, peak: number, wasOffline: boolean) =>
      `Average ${average}, peak ${peak}.${wasOffline ? ' Time offline counts as 0 players.' : ''}`,
    chartCapacity: (most: number) => `${most} slots.`,
    chartOffline: 'Red areas: the server was offline. Gaps: it was not checked.',
    unavailable: 'Not available right now.',
    notEnough: 'Not enough data for a chart yet.',
    /** Labels below a chart, evenly spaced from its beginning until now; some are empty to leave room for the others. */
    ago: {
      day: ['24 h ago', '18 h', '12 h', '6 h', 'now'],
      week: ['7 days ago', '', '', '4 d', '', '2 d', '', 'now'],
      month: ['30 days ago', '20 d', '10 d', 'now'],
    },
    asTable: 'Show as a table',
    columns: { since: 'From', average: 'Average', peak: 'Peak', online: 'Online' },
    uptime: 'Uptime, 30 days',
    uptimeLead: 'The share of checks the server answered, day by day.',
    uptimeOn: (day: string, share: string) => `${day}: ${share}`,
    noChecks: 'no checks',
    thirtyDaysAgo: '30 days ago',
    today: 'today',
    maps: 'Maps, 30 days',
    mapsLead: 'How long and how often each map was played.',
    noMaps: 'No maps recorded yet.',
    hours: (amount: number) => `${amount} h`,
    minutes: (amount: number) => `${amount} min`,
    times: (count: number) => plural('en', count, { one: 'time', other: 'times' }),
    otherMaps: (count: number) => plural('en', count, { one: 'other map', other: 'other maps' }),
    banner: 'Banner for forums',
    bannerAlt: (name: string) => `Status of ${name}`,
    bannerCode: 'BBCode',
  },

  /** The connect page. */
  connect: {
    title: (name: string) => `Connect to ${name}`,
    open: 'Open in CS2',
    openHint: 'Starts the game through Steam if it is installed on this device.',
    console: 'Or use the console',
    consoleHint: 'Turn on the developer console in the game settings, press ~ and paste this line.',
    consoleLabel: 'console command',
    offline: 'The server did not answer the latest checks, so connecting may fail.',
    full: 'The server is full. You can still try: someone may leave.',
    noAddress: 'This server’s address cannot be opened in the game.',
    details: 'Players and charts',
  },

  /** The outcome of the last action, shown once on the next page. */
  notices: {
    'sign-in-first': 'Please sign in to see that page.',
    'signed-out': 'You have been signed out.',
    'signed-out-everywhere': 'You have been signed out on every device.',
    'session-ended': 'That session has ended. The device is signed out.',
    'token-revoked': 'Token revoked. It stopped working immediately.',
    'token-already-created': 'You have already submitted that form, so no second token was created.',
    'discord-linked': 'Your Discord account is linked.',
    'discord-unlinked': 'Your Discord account is no longer linked.',
    'user-blocked': 'User blocked. Their tokens and sessions no longer work.',
    'user-unblocked': 'User unblocked. Their tokens work again.',
    'discord-hidden': 'Your Discord account is hidden from others now.',
    'discord-shown': 'Others can see your Discord account again.',
    'account-deleted':
      'Your account has been deleted, with its tokens, sessions, Discord link and sound. Your penalties stay.',
    'note-added': 'Note added.',
    'note-deleted': 'Note deleted.',
    'flags-saved': 'Flags saved.',
    'sound-uploaded': 'Your file has been uploaded and is being processed.',
    'sound-removed': 'Sound deleted.',
    'sound-already-removed': 'There is no sound left to delete.',
    'webhook-already-added': 'You have already submitted that form, so no second webhook was added.',
    'webhook-delivered': 'Sent, and the address accepted the message.',
    'webhook-not-delivered': 'The message was not delivered. The list below shows why.',
    'webhook-enabled': 'The webhook is on again and continues where it left off.',
    'webhook-removed': 'Webhook removed.',
    'webhook-already-removed': 'This webhook has already been removed.',
    'sign-in-cancelled': 'You cancelled signing in through Steam. Nothing has changed.',
    'link-cancelled': 'You cancelled linking your Discord account. Nothing has changed.',
  },

  /** Error pages: their headings, and a sentence for each failure. */
  errors: {
    titles: {
      unauthorized: 'Not signed in',
      forbidden: 'No access',
      notFound: 'Page not found',
      noServer: 'Server not found',
      tooMany: 'Too many requests',
      unavailable: 'Temporarily unavailable',
      form: 'Check the form',
      failed: 'Something went wrong',
    },
    home: 'Back to the account page',
    toForm: 'Back to the form',
    retry: 'Try again',
    'sign-in-refused':
      'We could not verify Steam’s response, so you are not signed in. This happens when signing in takes longer than ten minutes, was started in another browser, or the link was used twice.',
    'link-refused':
      'We could not verify Discord’s response, so nothing was linked. This happens when linking takes longer than ten minutes, was started in another browser, or the link was used twice.',
    'discord-linked-elsewhere':
      'This Discord account is already linked to another player. Unlink it there first, or ask an administrator.',
    'steam-unavailable': 'Steam is not responding right now. Please try again in a few minutes.',
    'discord-unavailable': 'Discord is not responding right now. Please try again in a few minutes.',
    unavailable: 'The service is not responding right now. Please try again in a minute.',
    'signed-out': 'You are not signed in, or your session has ended. Nothing has changed.',
    blocked: 'An administrator has blocked your account here. You cannot sign in or upload anything.',
    because: (reason: string) => `Reason: ${reason}`,
    forbidden: 'You do not have permission to do this.',
    'form-refused':
      'This form has expired or was not sent from this page. Nothing has changed: please go back and try again.',
    'not-found': 'This page does not exist, or what it showed has been removed.',
    'no-server': 'There is no server at this address, or it is no longer on the public list.',
    'only-forms': 'Nothing to see here: this address only accepts a form.',
    'no-forms': 'This page does not accept forms. Nothing has changed.',
    'token-name': 'Give the token a name of 1 to 64 characters.',
    'token-scopes': 'Tick at least one thing that the token may read.',
    'token-limit':
      'You already have the maximum number of active tokens. Revoke one you no longer need first.',
    'webhook-discord':
      'Discord doesn’t accept these messages. To post penalties in a channel, use the bot’s command /feed there.',
    'webhook-url':
      'The address must begin with https://, be reachable on the internet and contain no user name or password. No webhook was added.',
    'webhook-types': 'Tick at least one kind of event. No webhook was added.',
    'webhook-limit': 'You have reached the maximum number of webhooks. Remove one first.',
    'block-reason': (most: number) =>
      `The reason can have ${most} characters at most. The user was not blocked.`,
    'note-text': (most: number) => `A note can have 1 to ${most} characters. Nothing was saved.`,
    'address-too-long': 'This address is too long.',
    'invalid-input': 'Something in the form is not valid. Please go back and check it.',
    'sound-missing': 'Choose a file first. Nothing was uploaded.',
    'sound-empty': 'This file is empty. Choose another one.',
    'sound-not-allowed':
      'You cannot have a round-end sound here, so nothing was uploaded. Your account page shows who can.',
    'sound-too-slow': 'The upload took too long. Please try a smaller file or a faster connection.',
    'sound-start':
      'Enter the start as minutes and seconds up to 10:00, such as 1:07 or 1:07.5. Nothing was uploaded.',
    'sound-busy':
      'Your last upload is still in progress, or too many people are uploading at once. Please try again in a moment.',
    'sound-too-large': (megabytes: number) =>
      `The file is larger than ${megabytes} MB. Nothing was uploaded: make it shorter or save it in another format.`,
    'too-many-requests': (seconds: number) =>
      `Too many requests in a short time. Please try again in ${seconds} ${pluralForm('en', seconds, { one: 'second', other: 'seconds' })}.`,
    internal: 'Something went wrong on our side, and we have logged it. Please try again later.',
    requestId: (id: string) => `Request ID: ${id}`,
  },
};

/** The shape of every language, so that a missing sentence is a type error. */
export type Texts = typeof en;
