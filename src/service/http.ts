import { createApi } from '../../api/app.ts';
import { createTokenChecker, type OpenResponse } from '../../api/http/authentication.ts';
import { createClientKey } from '../../api/http/client-address.ts';
import { namesLoopback } from '../../api/http/host.ts';
import { createEventStreams } from '../../api/v1/events/event-streams.ts';
import type { EventsDeps } from '../../api/v1/events/events.ts';
import { serverEvents, soundEvents } from '../../api/v1/events/unstored-events.ts';
import { createPenaltyExports } from '../../api/v1/penalties/penalty-export.ts';
import { createBodyCache } from '../../api/v1/servers/servers.ts';
import packageJson from '../../package.json';
import { asExpensive } from '../db/select.ts';
import { tryParseSoundFileName, UNFINISHED_STATUSES } from '../domain/round-sound.ts';
import { HOUR_MS } from '../domain/time.ts';
import { createLiveQuery, type LiveQuery } from '../live/live-query.ts';
import { listPenaltyChanges, listStoredEvents, locateCursor, readEventLog } from '../queries/events.ts';
import { openPenaltyExport } from '../queries/penalties/export.ts';
import {
  countUnfinishedSounds,
  listPublishedRoundSounds,
  listReadySounds,
  type ReadyRoundSound,
} from '../queries/round-sounds/round-sounds.ts';
import { listLiveTokenIds } from '../queries/users/api-tokens.ts';
import { createAddressMatcher } from '../runtime/address.ts';
import { asRequest } from '../runtime/request.ts';
import type { Context } from './context.ts';
import { createHealthDeps } from './health.ts';
import { serve } from './listening.ts';
import { createRequestRecorder } from './metrics.ts';
import { type ApiOptions, openPages } from './pages.ts';
import { openLimits } from './shared-limits.ts';

/** How far request bodies may exceed the largest upload, so that a larger upload gets a page that says so. */
const BODY_MARGIN_BYTES = 16 * 1024 * 1024;

/** Role `api`: HTTP. @returns the port. */
export async function startApi(context: Context, { demoPeople }: ApiOptions = {}): Promise<number> {
  const { config, log, now, database, serverList, readHistory, metrics, health, onStopPart } = context;
  const sounds = await watchReadySounds(context);
  addQueueGauges(context);

  const tokens = startTokenChecker(context);
  const limits = openLimits(context);
  const { createLimiter } = limits;
  const penaltyExports = createPenaltyExports({
    // The primary: the cursor of an export is a position in its sequence of events.
    openExport: (filter, options) => openPenaltyExport(database.url, filter, options),
    limiter: createLimiter('exports', { windowMs: HOUR_MS }),
  });
  onStopPart('exports', penaltyExports.stop, { serves: true });
  const events = openEvents(context, sounds);
  checkOpenResponses(context, [penaltyExports, events.eventStreams]);
  const { app, hotRoutes } = createApi({
    log,
    tokens,
    limiters: {
      public: createLimiter('public'),
      protected: createLimiter('protected'),
    },
    clientKey: createClientKey(createAddressMatcher(config.trustedProxies), ({ state, warning }) => {
      log.warn(warning);
      health.set('proxy', () => state);
    }),
    now,
    limits: {
      public: config.rateLimit.publicPerMinute,
      protected: config.rateLimit.protectedPerMinute,
    },
    recordRequest: createRequestRecorder(metrics),
    publicUrl: config.publicUrl,
    isPublicUrlSet: config.isPublicUrlSet,
    securityContact: config.securityContact,
    version: packageJson.version,
    serverList,
    readHistory,
    bodies: createBodyCache(serverList, context.countLookups('bodies')),
    findSoundTitle: (steamId64) => sounds.current().titles.get(steamId64),
    listPublishedSounds: (players) =>
      listPublishedRoundSounds(database.reads, players, { audience: config.sound.audience }),
    lookUpSteamBans: context.lookUpSteamBans,
    reads: database.reads,
    penaltyExports,
    ...events,
    health: createHealthDeps(context),
    pages: await openPages(context, { tokens, limits, demoPeople }),
    storage: {
      isServed: (fileName) =>
        config.sound.audience === 'everyone' ||
        sounds.current().titles.has(tryParseSoundFileName(fileName) ?? ''),
      open: context.sounds.open,
    },
  });
  const port = serve(context, app, {
    setting: 'PORT',
    port: config.port,
    maxBodyBytes: config.sound.maxUploadBytes + BODY_MARGIN_BYTES,
    hotRoutes,
  });
  log.info({ host: config.host, port, url: config.publicUrl }, 'HTTP server listening');
  warnOfMissingSettings(context);
  return port;
}

function warnOfMissingSettings({ config, log }: Context): void {
  const { clientId, clientSecret } = config.discord;
  if (!config.isPublicUrlSet && !namesLoopback(config.host)) {
    log.warn(
      `PUBLIC_URL is not set: sign-in returns to ${config.publicUrl}, which works on this machine only; set it to the address that people open`,
    );
  }
  if ((clientId === undefined) !== (clientSecret === undefined))
    log.warn('Discord accounts cannot be linked: set both DISCORD_CLIENT_ID and DISCORD_CLIENT_SECRET');
}

const TOKEN_FLUSH_MS = 5000;
/** For the last flush: with a database that hangs, the stop must not take longer than five seconds. */
const LAST_FLUSH_LIMIT_MS = 1000;

/** Checks tokens until the service stops, and writes when they were last used. */
function startTokenChecker({ database, changes, clockMs, countLookups, onStop, repeat }: Context) {
  const tokens = createTokenChecker(database, { clockMs, onLookup: countLookups('tokens') });
  changes.onChange('api_tokens', tokens.forget);
  changes.onChange('users', tokens.forget);
  onStop('last uses of tokens', tokens.flush, { limitMs: LAST_FLUSH_LIMIT_MS });
  repeat({ name: 'writing last uses of tokens', everyMs: TOKEN_FLUSH_MS, work: tokens.flush });
  return tokens;
}

type ReadySounds = { all: readonly ReadyRoundSound[]; titles: ReadonlyMap<string, string> };

/** Every published sound, and the titles of those that are served, by SteamID. */
async function watchReadySounds({ config, database, changes, log, onStop }: Context) {
  const { audience } = config.sound;
  const sounds = await createLiveQuery({
    name: 'sounds',
    log,
    read: () => listReadySounds(database.db, audience),
    build: (all): ReadySounds => ({
      all,
      titles: new Map(
        all.filter(({ isServed }) => isServed).map(({ steamId64, title }) => [steamId64, title]),
      ),
    }),
  });
  onStop('sounds', sounds.stop);
  changes.onChange('round_sounds', sounds.invalidate);
  if (audience !== 'everyone') changes.onChange('users', sounds.invalidate);
  return sounds;
}

/** As often as Prometheus reads them. */
const GAUGES_MS = 15_000;

/** Gauges of the upload queue, which all processes share. */
function addQueueGauges({ database, changes, metrics, repeat }: Context): void {
  let counts: Awaited<ReturnType<typeof countUnfinishedSounds>> = [];
  const counter = repeat({
    name: 'counting queued sounds',
    everyMs: GAUGES_MS,
    work: async () => {
      counts = await countUnfinishedSounds(database.db);
    },
  });
  changes.onChange('round_sounds', counter.wake);
  for (const status of UNFINISHED_STATUSES) {
    const count = () => counts.find((one) => one.status === status)?.count ?? 0;
    metrics.addGauge(`sounds_${status}`, `Uploaded sounds that are ${status}.`, count);
  }
}

/** Sends changes of penalties, servers and sounds to clients as they happen. */
function openEvents(
  { now, log, database, changes, serverList, eventReader: reader, metrics, onStopPart, onDrain }: Context,
  sounds: LiveQuery<ReadySounds>,
): EventsDeps {
  const { requestDb } = database;
  const streams = createEventStreams({
    reader,
    // No client waits for a replay, but owners take turns.
    listEvents: (afterId, { owner, ...range }) => {
      const read = () => listStoredEvents(requestDb, afterId, { ...range, withSilent: false });
      return asRequest(`user ${owner}`, () => asExpensive(read), { limitMs: Number.POSITIVE_INFINITY });
    },
    log,
  });
  // Clients reconnect to another process; streams that are opened during the drain end with the remaining parts.
  onDrain(streams.closeAll);
  onStopPart('event streams', streams.stop, { serves: true });
  changes.onChange('erasures', streams.abortAll);
  metrics.addGauge('event_streams', 'Open event streams.', streams.count);

  serverList.onChange((after, before) => serverEvents(before, after).forEach(streams.send));
  sounds.onChange((after, before) => soundEvents(before.all, after.all, now()).forEach(streams.send));

  return {
    eventStreams: streams,
    listChanges: (cursor, limit) => listPenaltyChanges(requestDb, cursor, limit),
    locateEvent: async (cursor) => {
      const events = await readEventLog(requestDb);
      return cursor === undefined ? events.newestId : locateCursor(cursor, events).id;
    },
  };
}

/** A token expires without a NOTIFY. */
export const CHECK_MS = 1000;

/** Aborts streams and exports whose token is revoked or has expired, or whose owner is blocked. */
function checkOpenResponses(
  { database, changes, now, repeat }: Context,
  kinds: readonly { listOpen: () => OpenResponse[] }[],
): void {
  const checks = repeat({
    name: 'checking the tokens of open responses',
    everyMs: CHECK_MS,
    work: async () => {
      const open = kinds.flatMap(({ listOpen }) => listOpen());
      if (open.length === 0) return;
      const tokenIds = [...new Set(open.map(({ tokenId }) => tokenId))];
      const live = await listLiveTokenIds(database.db, tokenIds, now());
      for (const { tokenId, abort } of open) if (!live.has(tokenId)) abort();
    },
  });
  changes.onChange('api_tokens', checks.wake);
  changes.onChange('users', checks.wake);
}
