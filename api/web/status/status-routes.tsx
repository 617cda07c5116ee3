import type { JSX } from 'hono/jsx/jsx-runtime';
import { BANNER_SIZES } from '../../../src/charts/banner.tsx';
import type { FindBanner } from '../../../src/charts/banner-cache.ts';
import { isDatabaseOutage } from '../../../src/db/client.ts';
import type { ReadHistory, ReadMaps } from '../../../src/live/server-history.ts';
import type { ServerList } from '../../../src/live/server-list.ts';
import type { ServerView } from '../../../src/live/server-view.ts';
import { TimeLimitExceeded, withTimeLimit } from '../../../src/runtime/time-limit.ts';
import { isUnchanged } from '../../http/conditional.ts';
import type { Site } from '../layout/layout.tsx';
import { PageError } from '../request/page-error.ts';
import type { Visit } from '../request/visit.ts';
import { ConnectPage, ServerPage } from './server-page.tsx';
import { StatusPage } from './status-page.tsx';

export type StatusDeps = {
  serverList: Pick<ServerList, 'findBySlug' | 'toView' | 'listViews'>;
  readHistory: ReadHistory;
  readMaps: ReadMaps;
  findBanner: FindBanner;
};

/** A public page that is the same for all visitors except for the navigation. */
export type PublicRoute = {
  /** Parameters are written as in Elysia, `:name`. */
  path: string;
  /** @returns the function that renders the page. @throws {PageError} 404 when the parameters name nothing that exists. */
  prepare: (params: Record<string, string>) => (visit: Visit) => Promise<JSX.Element>;
};

const DAYS_OF_MAPS = 30;
const READ_LIMIT_MS = 2000;

/** The pages about servers. While the database is unavailable they are rendered from memory, without history. */
export function statusRoutes(deps: StatusDeps & { site: Site }): PublicRoute[] {
  const { site, serverList } = deps;
  const ofServer = (
    path: string,
    show: (visit: Visit, server: ServerView) => Promise<JSX.Element>,
  ): PublicRoute => ({
    path,
    prepare: ({ slug = '' }) => {
      const status = serverList.findBySlug(slug);
      if (!status) throw noServer();
      return (visit) => show(visit, serverList.toView(status));
    },
  });
  return [
    { path: '/', prepare: () => (visit) => showStatus(deps, visit) },
    ofServer('/servers/:slug', async (visit, server) => {
      const [day, week, month, maps] = await Promise.all([
        ifAvailable(deps.readHistory(server.id, 24)),
        ifAvailable(deps.readHistory(server.id, 168)),
        ifAvailable(deps.readHistory(server.id, 720)),
        ifAvailable(deps.readMaps(server.id, DAYS_OF_MAPS)),
      ]);
      return (
        <ServerPage site={site} visit={visit} server={server} histories={{ day, week, month }} maps={maps} />
      );
    }),
    ofServer('/connect/:slug', async (visit, server) => (
      <ConnectPage site={site} visit={visit} server={server} />
    )),
  ];
}

/** A server that does not exist or is hidden; the two cannot be told apart. */
function noServer(): PageError {
  return new PageError('no-server', 404);
}

/**
 * Responds with a server's banner, or 304 when the client's copy is current; 400 for an unknown size.
 * @throws {PageError} 404 for an unknown server.
 */
export async function respondWithBanner(
  findBanner: FindBanner,
  { request, url }: Visit,
  slug: string,
): Promise<Response> {
  const text = url.searchParams.getAll('size').at(-1) || BANNER_SIZES[0];
  const size = BANNER_SIZES.find((name) => name === text);
  if (size === undefined) {
    const message = `size ${JSON.stringify(text.slice(0, 32))} isn't valid: use ${BANNER_SIZES.join(' or ')}`;
    return Response.json({ success: false, message }, { status: 400 });
  }
  const banner = await findBanner(slug, size);
  if (!banner) throw noServer();
  const headers = { 'cache-control': 'public, max-age=15', etag: banner.etag, 'content-type': 'image/png' };
  return isUnchanged(request.headers, banner)
    ? new Response(null, { status: 304, headers })
    : new Response(banner.bytes, { headers });
}

async function showStatus(deps: StatusDeps & { site: Site }, visit: Visit): Promise<JSX.Element> {
  const servers = await Promise.all(
    deps.serverList.listViews().map(async (server) => ({
      server,
      history: await ifAvailable(deps.readHistory(server.id, 24)),
    })),
  );
  return <StatusPage site={deps.site} visit={visit} servers={servers} />;
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
