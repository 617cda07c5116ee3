import type { JSX } from 'hono/jsx/jsx-runtime';
import type { FindBanner } from '../../../src/charts/banners.ts';
import type { Series } from '../../../src/charts/series.ts';
import { isDatabaseOutage } from '../../../src/db/client.ts';
import type { ReadMaps } from '../../../src/live/map-history.ts';
import type { HistoryHours, ReadHistory } from '../../../src/live/server-history.ts';
import type { ServerList } from '../../../src/live/server-list.ts';
import { toServerView } from '../../../src/live/server-view.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../src/runtime/time-limit.ts';
import type { Site } from '../layout/layout.tsx';
import type { Visit } from '../request/visit.ts';
import { ConnectPage } from './connect-page.tsx';
import { MissingServerPage, ServerPage } from './server-page.tsx';
import { StatusPage } from './status-page.tsx';

export type StatusDeps = {
  serverList: Pick<ServerList, 'current' | 'findBySlug'>;
  readHistory: ReadHistory;
  readMaps: ReadMaps;
  findBanner: FindBanner;
};

/** A public page that is the same for all visitors except for the navigation. */
export type PublicRoute = {
  /** Parameters are written as in Elysia, `:name`. */
  path: string;
  /** @returns the function that renders the page; undefined when the parameters name nothing that exists. */
  prepare: (params: Record<string, string>) => ((visit: Visit) => Promise<JSX.Element>) | undefined;
  /** The page for that case, sent with status 404; an error page by default. */
  missing?: (visit: Visit) => JSX.Element;
};

const DAYS_OF_MAPS = 30;
const READ_LIMIT_MS = 2000;

/** The pages about servers. While the database is unavailable they are rendered from memory, without history. */
export function statusRoutes(deps: StatusDeps & { site: Site }): PublicRoute[] {
  const { site, serverList } = deps;
  const missing = (visit: Visit) => <MissingServerPage site={site} visit={visit} />;
  const findServer = ({ slug = '' }: Record<string, string>) => {
    const found = serverList.findBySlug(slug);
    return found && toServerView(found);
  };
  return [
    { path: '/', prepare: () => (visit) => showStatus(deps, visit) },
    {
      path: '/servers/:slug',
      missing,
      prepare: (params) => {
        const server = findServer(params);
        return server && ((visit) => showServer(deps, visit, server));
      },
    },
    {
      path: '/connect/:slug',
      missing,
      prepare: (params) => {
        const server = findServer(params);
        return server && (async (visit) => <ConnectPage site={site} visit={visit} server={server} />);
      },
    },
  ];
}

async function showStatus(deps: StatusDeps & { site: Site }, visit: Visit): Promise<JSX.Element> {
  const servers = await Promise.all(
    deps.serverList.current().map(async (status) => {
      const server = toServerView(status);
      const { position } = status.server;
      return { server, position, history: await readSeries(deps, server.id, 24) };
    }),
  );
  // The list is by name, which decides between equal positions.
  const inOrder = servers.toSorted(
    (a, b) => Number(b.server.isOnline) - Number(a.server.isOnline) || a.position - b.position,
  );
  return <StatusPage site={deps.site} visit={visit} servers={inOrder} />;
}

async function showServer(
  deps: StatusDeps & { site: Site },
  visit: Visit,
  server: ReturnType<typeof toServerView>,
): Promise<JSX.Element> {
  const [day, week, month, maps] = await Promise.all([
    readSeries(deps, server.id, 24),
    readSeries(deps, server.id, 168),
    readSeries(deps, server.id, 720),
    ifAvailable(deps.readMaps(server.id, DAYS_OF_MAPS)),
  ]);
  return (
    <ServerPage site={deps.site} visit={visit} server={server} histories={{ day, week, month }} maps={maps} />
  );
}

function readSeries(
  { readHistory }: StatusDeps,
  serverId: number,
  hours: HistoryHours,
): Promise<Series | undefined> {
  return ifAvailable(readHistory(serverId, hours));
}

/** Undefined when the database is unavailable or too slow: the page is then shown without this data. */
async function ifAvailable<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await withTimeLimit(reading, READ_LIMIT_MS);
  } catch (error) {
    if (error instanceof TimeLimitExceeded || isDatabaseOutage(error)) return undefined;
    throw error;
  }
}
