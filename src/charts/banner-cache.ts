import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { Unavailable } from '../domain/errors.ts';
import type { ReadHistory } from '../live/server-history.ts';
import type { ServerList } from '../live/server-list.ts';
import type { ServerStatus } from '../queries/servers/servers.ts';
import { type BannerPicture, type BannerSize, drawBanner } from './banner.tsx';

export type Banner = { bytes: Uint8Array<ArrayBuffer>; etag: string };

/** The banner of a listed server; undefined for any other. @throws {Unavailable} when it cannot be drawn now. */
export type FindBanner = (slug: string, size: BannerSize) => Promise<Banner | undefined>;

type CachedBanner = {
  serverId: number;
  size: BannerSize;
  /** Identifies what the latest drawing shows. */
  content: string;
  /** The latest finished drawing; the pending one while it is the first. */
  banner: Promise<Banner>;
};

type Deps = {
  serverList: Pick<ServerList, 'findBySlug' | 'findById' | 'toView' | 'onChange'>;
  readHistory: ReadHistory;
  draw?: typeof drawBanner;
  now: () => Date;
  log: Logger;
} & Pick<BannerPicture, 'siteName' | 'accent' | 'timeZone'>;

/** Beyond this, the least recently requested banners are dropped. */
const MAX_CACHED = 200;
/** A banner that is not requested for this long is dropped. */
const CACHED_MS = 3_600_000;
/** The curve is redrawn this often even if nothing else changes. */
const CURVE_MS = 600_000;
const CURVE_HOURS = 24;

/**
 * Redraws banners in the background when what they show has changed: only the first request for a banner waits for its
 * drawing, later ones get the latest finished one.
 */
export function createBanners(deps: Deps): FindBanner {
  const { serverList, log } = deps;
  const cache = new LRUCache<string, CachedBanner>({ max: MAX_CACHED, ttl: CACHED_MS, updateAgeOnGet: true });

  serverList.onChange(() => {
    for (const [key, entry] of cache.entries()) {
      const status = serverList.findById(entry.serverId);
      if (status) renew(entry, status);
      else cache.delete(key);
    }
  });

  function renew(entry: CachedBanner, status: ServerStatus): void {
    const content = contentOf(deps, status);
    if (content === entry.content) return;
    entry.content = content;
    draw(deps, status, entry.size).then(
      (banner) => {
        // Unless a newer drawing has been started.
        if (entry.content === content) entry.banner = Promise.resolve(banner);
      },
      (error) => {
        log.warn({ err: error, server: status.server.slug }, 'a banner could not be drawn');
        // The next poll tries again.
        if (entry.content === content) entry.content = '';
      },
    );
  }

  return async (slug, size) => {
    const status = serverList.findBySlug(slug);
    if (!status) return undefined;
    const key = `${status.server.id} ${size}`;
    const cached = cache.get(key);
    if (cached) {
      // Without polls the list does not change, but its servers become stale.
      if (serverList.toView(status).uncheckedSince) renew(cached, status);
      return cached.banner;
    }
    const content = contentOf(deps, status);
    const banner = draw(deps, status, size);
    cache.set(key, { serverId: status.server.id, size, content, banner });
    banner.catch(() => cache.delete(key));
    return banner;
  };
}

function contentOf({ serverList, now }: Deps, status: ServerStatus): string {
  const { name, slug, address, map, isOnline, playersCount, maxPlayers, uncheckedSince } =
    serverList.toView(status);
  const curve = Math.floor(now().getTime() / CURVE_MS);
  const state = [map, isOnline, playersCount, maxPlayers, uncheckedSince];
  return JSON.stringify([name, slug, address, ...state, curve]);
}

async function draw(deps: Deps, status: ServerStatus, size: BannerSize): Promise<Banner> {
  const server = deps.serverList.toView(status);
  const history = await deps.readHistory(server.id, CURVE_HOURS).catch(() => undefined);
  const { siteName, accent, timeZone } = deps;
  const bytes = await (deps.draw ?? drawBanner)({
    size,
    server,
    history,
    now: deps.now(),
    siteName,
    accent,
    timeZone,
  }).catch((cause: unknown) => {
    throw new Unavailable('the banner cannot be drawn now', { cause });
  });
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}
