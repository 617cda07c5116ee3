import pino from 'pino';
import { createDownloads } from '../../../api/web/account/downloads.ts';
import { pages } from '../../../api/web/pages.tsx';
import type { PagesDeps } from '../../../api/web/pages-deps.ts';
import type { RequestDb } from '../../../src/db/client.ts';
import { toServerView } from '../../../src/live/server-view.ts';
import { openPersonExport } from '../../../src/queries/personal-data/export.ts';
import { countSteamCall } from '../../../src/queries/steam-bans.ts';
import { openWebhookActions } from '../../../src/service/webhooks.ts';
import { createSteamBans } from '../../../src/steam/bans.ts';
import { createSteamApi } from '../../../src/steam/steam-api.ts';
import { atEnd } from '../cleanup.ts';
import { erase } from '../database/builders.ts';
import { urlOf } from '../database/database.ts';
import { findFreePort } from '../machine/free-port.ts';
import type { DiscordOAuthProvider } from '../providers/discord-oauth-provider.ts';
import type { SteamOpenIdProvider } from '../providers/steam-openid-provider.ts';

export type AccountSite = {
  origin: string;
  /** What the pages believe the time is; null for the real one. */
  clock: { now: Date | null };
  log: { level: 'info' | 'warn' | 'error'; fields: object; message: string }[];
  /** How many requests have come and have no response yet. */
  countPending: () => number;
};

export type AccountSiteOptions = Partial<
  Pick<PagesDeps, 'demoPeople' | 'lifts' | 'panels' | 'sounds' | 'status'>
> & {
  db: RequestDb;
  steam: SteamOpenIdProvider;
  discord?: DiscordOAuthProvider;
  steamApi?: { apiUrl: string; apiKey: string };
  settings?: Partial<Omit<PagesDeps['settings'], 'steam' | 'discord'>>;
  limits?: Partial<PagesDeps['limits']>;
  /** `WEBHOOK_ALLOW`, empty by default. */
  webhookAllow?: string[];
};

const NO_LIFTS: PagesDeps['lifts'] = {
  audience: 'admins',
  findSystem: () => undefined,
  lift: async () => 'unconfirmed',
  check: async () => {},
  listProblems: () => [],
};

const SECRET = 'a-secret-of-the-tests-0123456789abcdef';

/** The account pages on a free port until the end of the test file: by default without servers, panels and stored sounds. */
export function startAccountSite(options: AccountSiteOptions): AccountSite {
  const clock: AccountSite['clock'] = { now: null };
  const log: AccountSite['log'] = [];
  const port = findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const steamApi = createSteamApi({
    apiUrl: '',
    apiKey: undefined,
    ...options.steamApi,
    countCall: () => countSteamCall(options.db),
  });
  const unlimited = { take: () => ({ isAllowed: true, resetSeconds: 60 }) };
  const { app } = pages({
    db: options.db,
    settings: {
      publicUrl: origin,
      isPublicUrlSet: true,
      steam: { openIdUrl: options.steam.url },
      discord: {
        apiUrl: options.discord?.apiUrl ?? 'https://discord.invalid/api',
        clientId: options.discord?.clientId,
        clientSecret: options.discord?.clientSecret,
      },
      ownerSteamIds: [],
      moderatorSteamIds: [],
      tokensFor: 'everyone',
      site: { name: 'Zagrywka', logoUrl: undefined, accent: undefined, discordInviteUrl: undefined },
      arePenaltiesPublic: false,
      appeals: undefined,
      appealUrl: undefined,
      timeZone: 'UTC',
      ...options.settings,
    },
    steamApi,
    lookUpSteamBans: steamApi.hasKey
      ? createSteamBans({
          steam: steamApi,
          db: options.db,
          log: pino({ level: 'silent' }),
          now: () => clock.now ?? new Date(),
          clockMs: () => performance.now(),
        })
      : undefined,
    sessionSecret: SECRET,
    demoPeople: options.demoPeople,
    clientKey: () => '127.0.0.1',
    onTokenRevoked: () => {},
    limits: {
      attempts: unlimited,
      forms: unlimited,
      pages: unlimited,
      sessions: unlimited,
      userPages: unlimited,
      banners: unlimited,
      ...options.limits,
    },
    log: {
      info: (fields, message) => log.push({ level: 'info', fields, message }),
      warn: (fields, message) => log.push({ level: 'warn', fields, message }),
      error: (fields, message) => log.push({ level: 'error', fields, message }),
    },
    logTrouble: () => {},
    now: () => clock.now ?? new Date(),
    status: options.status ?? {
      serverList: {
        findBySlug: () => undefined,
        toView: (status) => toServerView(status, new Date(0)),
        listViews: () => [],
      },
      readHistory: async () => ({ points: [], stepSeconds: 300, readAt: new Date() }),
      readMaps: async () => ({ maps: [], others: 0 }),
      findBanner: async () => undefined,
    },
    panels: options.panels ?? [],
    lifts: options.lifts ?? NO_LIFTS,
    webhooks: openWebhookActions({ config: { webhookAllow: options.webhookAllow ?? [] }, db: options.db }),
    downloads: createDownloads({
      openExport: (steamId64, exportOptions) =>
        openPersonExport({ databaseUrl: urlOf(options.db), db: options.db }, steamId64, exportOptions),
    }),
    deleteAccount: async (steamId64) => {
      await erase(options.db, steamId64, { actor: 'member' });
    },
    sounds: options.sounds ?? {
      limits: { maxSeconds: 10, maxUploadBytes: 20 * 1024 * 1024, audience: 'everyone' },
      receiveUpload: async () => 'key',
      queueUpload: async () => {},
      removeSound: async () => {},
    },
  });
  app.listen({ port, hostname: '127.0.0.1' });
  atEnd(() => app.stop(true));
  if (options.discord) options.discord.redirectUris = [`${origin}/account/discord/return`];
  return {
    origin,
    clock,
    log,
    countPending: () => app.server?.pendingRequests ?? 0,
  };
}
