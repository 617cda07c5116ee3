import type { ServerList } from '../../src/live/server-list.ts';
import { type ServerView, toServerView } from '../../src/live/server-view.ts';
import type { Attachment, MessageView } from '../embeds/message.ts';
import { serverCard } from '../embeds/server-card.ts';
import { inDisplayOrder, serverList } from '../embeds/server-list.ts';
import type { LiveStatus } from '../live-status/live-status.ts';
import type { Localization } from '../locales/localization.ts';
import type { SitePages } from '../site-pages.ts';

export type ServerDeps = {
  servers: Pick<ServerList, 'current' | 'findById' | 'findBySlug'>;
  pages: SitePages;
  /** The chart of a server's last 24 hours; undefined when there is none. */
  chartOf: (serverId: number, localization: Localization) => Promise<Attachment | undefined>;
  pinLiveStatus: LiveStatus['pin'];
};

/** All servers, in display order. */
export function listViews({ servers }: Pick<ServerDeps, 'servers'>): ServerView[] {
  return inDisplayOrder(servers.current().map(toServerView));
}

/** The list of all servers. */
export function renderList(deps: ServerDeps, { texts }: Localization, offersPin: boolean): MessageView {
  return serverList(listViews(deps), { texts, pages: deps.pages, offersPin });
}

/** The card of one server, with its chart. */
export async function renderCard(
  deps: ServerDeps,
  server: ServerView,
  localization: Localization,
  offersPin: boolean,
): Promise<MessageView> {
  const chart = await deps.chartOf(server.id, localization);
  return serverCard(server, { texts: localization.texts, pages: deps.pages, offersPin, chart });
}
