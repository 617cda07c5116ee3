import type { PagesDeps } from '../../api/web/pages-deps.ts';
import { createBanners } from '../charts/banners.ts';
import { createMapReader } from '../live/map-history.ts';
import type { Context } from './context.ts';

/** The same as in `base.css`. */
const DEFAULT_ACCENT = '#f7b23b';

/** The data of the pages about servers. */
export function openStatusPages(context: Context): PagesDeps['status'] {
  const { config, log, now, database, serverList, readHistory } = context;
  return {
    serverList,
    readHistory,
    readMaps: createMapReader(database.requestDb, context),
    findBanner: createBanners({
      serverList,
      readHistory,
      now,
      log,
      siteName: config.site.name,
      accent: config.site.accent ?? DEFAULT_ACCENT,
    }),
  };
}
