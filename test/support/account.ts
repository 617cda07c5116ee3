import { type AccountDeps, accountPages } from '../../api/account/account.tsx';
import type { Db } from '../../src/db/client.ts';
import type { SteamId64 } from '../../src/steam-id.ts';
import type { DiscordOAuthProvider } from './discord-oauth-provider.ts';
import { findFreePort } from './free-port.ts';
import type { SteamOpenIdProvider } from './steam-openid-provider.ts';

export type AccountSite = {
  origin: string;
  /** What the pages believe the time is; null for the real one. */
  clock: { now: Date | null };
  log: { level: 'info' | 'error'; fields: object; message: string }[];
  stop: () => Promise<void>;
};

type Options = {
  db: Db;
  steam: SteamOpenIdProvider;
  discord?: DiscordOAuthProvider;
  /** By default where it listens. */
  publicUrl?: string;
  ownerSteamIds?: SteamId64[];
  steamApi?: { apiUrl: string; apiKey: string };
  limits?: AccountDeps['limits'];
  sections?: AccountDeps['sections'];
};

const SECRET = 'a-secret-of-the-tests-0123456789abcdef';

/** The account pages on a port of their own, against local providers. */
export function startAccountSite(options: Options): AccountSite {
  const clock: AccountSite['clock'] = { now: null };
  const log: AccountSite['log'] = [];
  const port = findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const unlimited = { take: () => ({ isAllowed: true }) };
  const app = accountPages({
    db: options.db,
    settings: {
      publicUrl: options.publicUrl ?? origin,
      steam: { openIdUrl: options.steam.url, apiUrl: '', apiKey: undefined, ...options.steamApi },
      discord: {
        apiUrl: options.discord?.apiUrl ?? 'https://discord.invalid/api',
        clientId: options.discord?.clientId,
        clientSecret: options.discord?.clientSecret,
      },
      ownerSteamIds: options.ownerSteamIds ?? [],
    },
    sessionSecret: SECRET,
    clientKey: () => '127.0.0.1',
    limits: options.limits ?? { trips: unlimited, forms: unlimited },
    log: {
      info: (fields, message) => log.push({ level: 'info', fields, message }),
      error: (fields, message) => log.push({ level: 'error', fields, message }),
    },
    now: () => clock.now ?? new Date(),
    ...(options.sections && { sections: options.sections }),
  });
  app.listen({ port, hostname: '127.0.0.1' });
  if (options.discord) options.discord.redirectUris = [`${origin}/account/discord/return`];
  return { origin, clock, log, stop: async () => void (await app.stop(true)) };
}
