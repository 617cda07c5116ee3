import { createApi } from '../../api/app.ts';
import { createTokenChecker } from '../../api/http/authentication.ts';
import { namesLoopback } from '../../api/http/host.ts';
import type { DemoPeople } from '../../api/web/sign-in/demo-sign-in.tsx';
import { loadSessionSecret } from '../../api/web/visit/session-secret.ts';
import { removeSound, saveMissingSizes, storeUpload } from '../../media/uploads.ts';
import packageJson from '../../package.json';
import { withWaitLimit } from '../db/connection/limited-database.ts';
import { createWaitLimit, REQUEST_LIMITS } from '../db/connection/wait-limit.ts';
import { findFileOwner } from '../domain/round-sound.ts';
import { listActivePenalties } from '../queries/penalties/active.ts';
import { listPenalties } from '../queries/penalties/list.ts';
import { searchPlayers } from '../queries/player-search.ts';
import { listPublishedRoundSounds } from '../queries/round-sounds/round-sounds.ts';
import { saveConfiguredOwners } from '../queries/users/owners.ts';
import { findUser, listUsersByDiscordId, listUsersBySteamId } from '../queries/users/users.ts';
import { createAddressMatcher } from '../runtime/address.ts';
import { runRegularly } from '../runtime/interval.ts';
import type { Context } from './context.ts';
import { openEvents } from './events.ts';
import { createHealthDeps } from './health.ts';
import { serve } from './listening.ts';
import { countLookups } from './metrics/cache-metrics.ts';
import { createRequestNotes } from './metrics/request-metrics.ts';
import { erasePlayer } from './parts/erase-player.ts';
import { startExports } from './parts/exports.ts';
import { openWebhookActions } from './parts/webhooks.ts';
import { openLimits } from './shared-limits.ts';
import { addQueueGauges, watchReadySounds } from './sounds.ts';
import { openStatusPages } from './status.ts';

/** How far request bodies may exceed the largest upload, so that a larger upload gets a page that says so. */
const BODY_MARGIN_BYTES = 16 * 1024 * 1024;
const TOKEN_FLUSH_MS = 5000;
/** For the last flush, when the service stops: a database that hangs must not delay that beyond five seconds. */
export const LAST_FLUSH_LIMIT_MS = 1000;
/** Limits of the account page: sign-in attempts (start and return each count) by address, forms by user. */
const ATTEMPTS_PER_MINUTE = 30;
const FORMS_PER_MINUTE = 60;

/** The users that visitors of the demo can sign in as with a button; only the demo sets it. */
export type ApiOptions = { demoPeople?: DemoPeople | undefined };

/** Role `api`: HTTP. */
export async function startApi(context: Context, { demoPeople }: ApiOptions = {}): Promise<number> {
  const {
    config,
    log,
    now,
    clockMs,
    database,
    changes,
    serverList,
    readHistory,
    soundFolders,
    metrics,
    onStop,
    steamApi,
  } = context;
  // Only with this role: processes of other roles may run without OWNER_STEAMIDS.
  await saveConfiguredOwners(database.db, config.ownerSteamIds);
  const maxUploadBytes = config.sound.maxUploadMb * 1024 * 1024;
  await saveMissingSizes(database.db, soundFolders);
  const sounds = await watchReadySounds(context);
  await addQueueGauges(context);

  const accountDb = withWaitLimit(database.db, createWaitLimit(REQUEST_LIMITS));
  const tokens = createTokenChecker(database.db, { clockMs, onLookup: countLookups(metrics, 'tokens') });
  changes.onChange('api_tokens', tokens.forget);
  changes.onChange('users', tokens.forget);
  onStop('last uses of tokens', tokens.flush, { limitMs: LAST_FLUSH_LIMIT_MS });
  onStop(
    'token uses',
    runRegularly({ name: 'writing last uses of tokens', everyMs: TOKEN_FLUSH_MS, work: tokens.flush, log }),
  );

  const limits = openLimits(context);
  const { createLimiter } = limits;
  const { app, hotRoutes } = createApi({
    log,
    tokens,
    limiters: {
      public: createLimiter('public', config.rateLimit.publicPerMinute),
      protected: createLimiter('protected', config.rateLimit.protectedPerMinute),
    },
    isTrustedProxy: createAddressMatcher(config.trustedProxies),
    now,
    limits: {
      public: config.rateLimit.publicPerMinute,
      protected: config.rateLimit.protectedPerMinute,
    },
    recordRequest: createRequestNotes(metrics),
    publicUrl: config.publicUrl,
    version: packageJson.version,
    servers: { serverList, readHistory, now, onBodyLookup: countLookups(metrics, 'bodies') },
    events: openEvents(context),
    penalties: {
      listPenalties: (filter, options) => listPenalties(database.replica, filter, options),
      listActivePenalties: (players, options) => listActivePenalties(database.replica, players, options),
      exports: startExports(context, limits),
    },
    users: {
      findUser: (who, now) => findUser(database.accountReplica, who, now),
      listUsersBySteamId: (ids, now) => listUsersBySteamId(database.accountReplica, ids, now),
      listUsersByDiscordId: (ids, now) => listUsersByDiscordId(database.accountReplica, ids, now),
      searchPlayers: (name, options) => searchPlayers(database.replica, name, options),
    },
    steamBans: { lookUpSteamBans: context.lookUpSteamBans },
    roundSounds: {
      findTitle: (steamId64) => sounds.current().get(steamId64),
      listPublished: (players) =>
        listPublishedRoundSounds(database.accountReplica, players, { audience: config.sound.audience }),
    },
    health: createHealthDeps(context),
    pages: {
      db: accountDb,
      now,
      demoPeople,
      settings: config,
      deleteAccount: async (steamId64) => {
        await erasePlayer(accountDb, soundFolders, { steamId64, withPenalties: false, actor: 'member' });
      },
      steamApi,
      sessionSecret: await loadSessionSecret(database.db, config.sessionSecret),
      onTokenRevoked: tokens.forget,
      limits: {
        attempts: createLimiter('sign-in attempts', ATTEMPTS_PER_MINUTE),
        forms: createLimiter('forms', FORMS_PER_MINUTE),
        pages: createLimiter('pages', config.rateLimit.publicPerMinute),
      },
      status: openStatusPages(context),
      webhooks: openWebhookActions({ config, db: accountDb, now }),
      sounds: {
        limits: { maxSeconds: config.sound.maxSeconds, maxUploadBytes, audience: config.sound.audience },
        storeUpload: (upload) =>
          storeUpload(accountDb, soundFolders, {
            upload,
            maxBytes: maxUploadBytes,
            audience: config.sound.audience,
          }),
        removeSound: (removal) => removeSound(accountDb, soundFolders, removal),
      },
    },
    storage: {
      isServed: (fileName) =>
        config.sound.audience === 'everyone' || sounds.current().has(findFileOwner(fileName) ?? ''),
      soundFolder: soundFolders.published,
    },
  });
  const port = serve(context, app, {
    setting: 'PORT',
    port: config.port,
    maxBodyBytes: maxUploadBytes + BODY_MARGIN_BYTES,
    hotRoutes,
  });
  log.info({ host: config.host, port, url: config.publicUrl }, 'HTTP listens');
  if (!config.isPublicUrlSet && !namesLoopback(config.host)) {
    log.warn(
      `PUBLIC_URL is not set: signing in leads to ${config.publicUrl}; set it to the address that people open`,
    );
  }
  return port;
}
