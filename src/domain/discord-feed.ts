/** The options of feeds, besides their channel. */
export const FEED_OPTIONS = ['types', 'server', 'players', 'after', 'role'] as const;
export type FeedOption = (typeof FEED_OPTIONS)[number];

/** What a feed posts about a server, in this order. `players`: the chosen number of players is reached. */
export const FEED_CHANGES = ['down', 'up', 'players'] as const;
export type FeedChange = (typeof FEED_CHANGES)[number];
