/** What a feed in a Discord channel tells of. */
export const FEED_SUBJECTS = ['penalties', 'servers'] as const;
export type FeedSubject = (typeof FEED_SUBJECTS)[number];

/** What a feed tells of a server, in the order it is posted. `players`: as many as were asked for are on it. */
export const FEED_CHANGES = ['down', 'up', 'players'] as const;
export type FeedChange = (typeof FEED_CHANGES)[number];
