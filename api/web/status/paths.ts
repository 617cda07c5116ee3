import type { ServerView } from '../../../src/live/server-view.ts';

/** The page of a server. */
export function serverPathOf({ slug }: Pick<ServerView, 'slug'>): string {
  return `/servers/${encodeURIComponent(slug)}`;
}

/** The picture of a server for forums and previews. */
export function bannerPathOf(server: Pick<ServerView, 'slug'>): string {
  return `${serverPathOf(server)}/banner.png`;
}
