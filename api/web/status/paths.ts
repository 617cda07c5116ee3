import type { ServerView } from '../../../src/live/server-view.ts';

/** The path of a server's page. */
export function serverPathOf({ slug }: Pick<ServerView, 'slug'>): string {
  return `/servers/${encodeURIComponent(slug)}`;
}

/** The path of a server's banner for forums and link previews. */
export function bannerPathOf(server: Pick<ServerView, 'slug'>): string {
  return `${serverPathOf(server)}/banner.png`;
}
