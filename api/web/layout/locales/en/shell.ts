/** The parts around the content of every page. */
export const shell = {
  /** Shown to readers of the other languages. */
  switchToThis: 'Switch to English',
  skipToContent: 'Skip to content',
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
};

/** The page of a visitor who is not signed in. */
export const signIn = {
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
};
