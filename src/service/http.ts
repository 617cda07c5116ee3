import { createApi } from '../../api/app.ts';
import { namesLoopback } from '../../api/http/host.ts';
import { createBodyCache } from '../../api/v1/body-cache.ts';
import { saveMissingSizes } from '../../media/uploads.ts';
import packageJson from '../../package.json';
import { tryParseSoundFileName } from '../domain/round-sound.ts';
import { listActivePenalties } from '../queries/penalties/active.ts';
import { listPenalties } from '../queries/penalties/list.ts';
import { findPenalty } from '../queries/penalties/penalty.ts';
import { listPenaltyServers } from '../queries/penalties/penalty-servers.ts';
import { searchPlayers } from '../queries/player-search.ts';
import { listPublishedRoundSounds } from '../queries/round-sounds/round-sounds.ts';
import { saveConfiguredFlags } from '../queries/users/configured-flags.ts';
import { findUser, listUsersByDiscordId, listUsersBySteamId } from '../queries/users/users.ts';
import { createAddressMatcher } from '../runtime/address.ts';
import type { Context } from './context.ts';
import { openEvents } from './events.ts';
import { createHealthDeps } from './health.ts';
import { serve } from './listening.ts';
import { countLookups } from './metrics/cache-metrics.ts';
import { createRequestRecorder } from './metrics/request-metrics.ts';
import { type ApiOptions, openPages } from './pages.ts';
import { startExports } from './parts/exports.ts';
import { openLimits } from './shared-limits.ts';
import { addQueueGauges, watchReadySounds } from './sounds.ts';
import { startTokenChecker } from './tokens.ts';

/** How far request bodies may exceed the largest upload, so that a larger upload gets a page that says so. */
const BODY_MARGIN_BYTES = 16 * 1024 * 1024;

/** Role `api`: HTTP. @returns the port. */
export async function startApi(context: Context, { demoPeople }: ApiOptions = {}): Promise<number> {
  const { config, log, now, database, serverList, readHistory, soundFolders, metrics } = context;
  // Only with this role: processes of other roles may run without OWNER_STEAMIDS.
  await saveConfiguredFlags(database.db, config, now());
  await saveMissingSizes(database.db, soundFolders);
  const sounds = await watchReadySounds(context);
  await addQueueGauges(context);

  const tokens = startTokenChecker(context);
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
    recordRequest: createRequestRecorder(metrics),
    publicUrl: config.publicUrl,
    securityContact: config.securityContact,
    version: packageJson.version,
    serverList,
    readHistory,
    bodies: createBodyCache(serverList, countLookups(metrics, 'bodies')),
    findSoundTitle: (steamId64) => sounds.current().get(steamId64),
    listPublishedSounds: (players) =>
      listPublishedRoundSounds(database.reads, players, { audience: config.sound.audience }),
    lookUpSteamBans: context.lookUpSteamBans,
    listPenalties: (filter, options) => listPenalties(database.reads, filter, options),
    listActivePenalties: (players, options) => listActivePenalties(database.reads, players, options),
    findPenalty: (id, now) => findPenalty(database.reads, id, now),
    listPenaltyServers: () => listPenaltyServers(database.reads),
    penaltyExports: startExports(context, limits),
    findUser: (who, now) => findUser(database.reads, who, now),
    listUsersBySteamId: (ids, now) => listUsersBySteamId(database.reads, ids, now),
    listUsersByDiscordId: (ids, now) => listUsersByDiscordId(database.reads, ids, now),
    searchPlayers: (name, options) => searchPlayers(database.reads, name, options),
    ...openEvents(context),
    health: createHealthDeps(context),
    pages: await openPages(context, { tokens, limits, demoPeople }),
    storage: {
      isServed: (fileName) =>
        config.sound.audience === 'everyone' || sounds.current().has(tryParseSoundFileName(fileName) ?? ''),
      soundFolder: soundFolders.published,
    },
  });
  const port = serve(context, app, {
    setting: 'PORT',
    port: config.port,
    maxBodyBytes: config.sound.maxUploadBytes + BODY_MARGIN_BYTES,
    hotRoutes,
  });
  log.info({ host: config.host, port, url: config.publicUrl }, 'HTTP server listening');
  warnOfUnsetPublicUrl(context);
  warnOfHalfDiscordApplication(context);
  return port;
}

function warnOfHalfDiscordApplication({ config, log }: Context): void {
  const { clientId, clientSecret } = config.discord;
  if ((clientId === undefined) === (clientSecret === undefined)) return;
  const [set, unset] =
    clientId === undefined
      ? ['DISCORD_CLIENT_SECRET', 'DISCORD_CLIENT_ID']
      : ['DISCORD_CLIENT_ID', 'DISCORD_CLIENT_SECRET'];
  log.warn(`${set} is set without ${unset}: Discord accounts cannot be linked`);
}

function warnOfUnsetPublicUrl({ config, log }: Context): void {
  if (config.isPublicUrlSet || namesLoopback(config.host)) return;
  log.warn(
    `PUBLIC_URL is not set: whoever signs in is sent back to ${config.publicUrl}, which works on this machine only; set it to the address that people open`,
  );
}
