import type { TokenChecker } from '../../api/http/authentication.ts';
import { createDownloads } from '../../api/web/account/downloads.ts';
import type { PagesDeps } from '../../api/web/pages-deps.ts';
import { loadSessionSecret } from '../../api/web/request/signing.ts';
import type { DemoPeople } from '../../api/web/sign-in/demo-sign-in.tsx';
import { queueUpload, receiveUpload, removeSound } from '../../media/uploads.ts';
import { createBanners } from '../charts/banner-cache.ts';
import { listPanels } from '../domain/panel.ts';
import { createMapReader } from '../live/server-history.ts';
import { openPersonExport } from '../queries/personal-data/export.ts';
import type { Context } from './context.ts';
import { erasePlayer } from './erase-player.ts';
import { openLifts } from './lifts.ts';
import type { Limits } from './shared-limits.ts';
import { openWebhookActions } from './webhooks.ts';

/** Sign-in and link attempts by address: start and return each count. */
const ATTEMPTS_PER_MINUTE = 30;
/** Forms, and downloads of own data, by user. */
const FORMS_PER_MINUTE = 60;
/** By user: no cache serves these pages. A page polls every second while its sound is processed. */
const MEMBER_PAGES_PER_MINUTE = 300;
/** By address: an open status page refreshes itself several times a minute, and people of one household share an address. */
const pagesPerMinute = ({ publicPerMinute }: Context['config']['rateLimit']) => 4 * publicPerMinute;
/**
 * By address, before the user is known: enough for ten people behind one address who each use up the largest of the
 * limits that follow.
 */
const sessionsPerMinute = (limits: Context['config']['rateLimit']) =>
  10 * Math.max(MEMBER_PAGES_PER_MINUTE, pagesPerMinute(limits), limits.protectedPerMinute);
/** By address. A forum shows many banners on one page, and each is served from memory. */
const BANNERS_PER_MINUTE = 300;

/** The users that visitors of the demo can sign in as with a button; only the demo sets it. */
export type ApiOptions = { demoPeople?: DemoPeople | undefined };

type Options = ApiOptions & { tokens: TokenChecker; limits: Limits };

/** The dependencies of the HTML pages. */
export async function openPages(
  context: Context,
  { tokens, limits: { createLimiter }, demoPeople }: Options,
): Promise<Omit<PagesDeps, 'log' | 'logTrouble' | 'clientKey'>> {
  const { config, now, database, sounds, steamApi, metrics, onStopPart } = context;
  const { audience, maxSeconds, maxUploadBytes } = config.sound;
  const { requestDb } = database;
  const countFailure = metrics.addCounter(
    'sign_in_provider_failures_total',
    'Sign-ins and links that failed because Steam or Discord gave no usable response.',
    ['provider'],
  );
  const downloads = createDownloads({
    openExport: (steamId64, options) =>
      openPersonExport({ databaseUrl: database.url, db: requestDb }, steamId64, options),
  });
  const allow = (name: string, limit: number) => {
    const limiter = createLimiter(name);
    return { take: (key: string) => limiter.take(key, limit) };
  };
  onStopPart('downloads of own data', downloads.stop, { serves: true });
  return {
    db: requestDb,
    now,
    demoPeople,
    settings: config,
    deleteAccount: async (steamId64) => {
      await erasePlayer(database.db, sounds, { steamId64, withPenalties: false, actor: 'member' });
    },
    downloads,
    steamApi,
    lookUpSteamBans: steamApi.hasKey ? context.lookUpSteamBans : undefined,
    sessionSecret: await loadSessionSecret(database.db, config.sessionSecret),
    onTokenRevoked: tokens.forget,
    onProviderFailed: (provider) => countFailure({ provider }),
    limits: {
      attempts: allow('sign-in attempts', ATTEMPTS_PER_MINUTE),
      forms: allow('forms', FORMS_PER_MINUTE),
      pages: allow('pages', pagesPerMinute(config.rateLimit)),
      sessions: allow('session lookups', sessionsPerMinute(config.rateLimit)),
      userPages: allow('member pages', MEMBER_PAGES_PER_MINUTE),
      banners: allow('banners', BANNERS_PER_MINUTE),
    },
    status: openStatusPages(context),
    webhooks: openWebhookActions({ config, db: requestDb, now }),
    panels: listPanels(config.sources),
    lifts: openLifts(context),
    sounds: {
      limits: { maxSeconds, maxUploadBytes, audience },
      receiveUpload: (steamId64, bytes) =>
        receiveUpload(requestDb, sounds, { steamId64, bytes, maxBytes: maxUploadBytes, audience }),
      queueUpload: (upload) => queueUpload(requestDb, sounds, { ...upload, audience }),
      removeSound: (removal) => removeSound(requestDb, sounds, removal),
    },
  };
}

/** The same as in `base.css`. */
const DEFAULT_ACCENT = '#f7b23b';

/** The data of the pages about servers. */
function openStatusPages(context: Context): PagesDeps['status'] {
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
      timeZone: config.timeZone,
    }),
  };
}
