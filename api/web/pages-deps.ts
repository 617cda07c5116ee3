import type { Server } from 'bun';
import type { Db } from '../../src/db/client.ts';
import type { TokenAudience } from '../../src/domain/rights/token-audience.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import type { WebhookActions } from '../../src/events/webhooks/actions.ts';
import type { SteamApi } from '../../src/steam/steam-api.ts';
import type { SoundStore } from './account/round-sound/round-sound-deps.ts';
import type { DemoPeople } from './sign-in/demo-sign-in.tsx';
import type { StatusDeps } from './status/status-routes.tsx';

export type Limiter = {
  take: (key: string) => Room | Promise<Room>;
};
/** Whether there is room for a request; if not, there is again after so many seconds. */
type Room = { isAllowed: boolean; resetSeconds: number };

export type Incoming = { request: Request; server: Server<unknown> | null };

/** What the pages are given. */
export type PagesDeps = {
  db: Db;
  settings: {
    publicUrl: string;
    /** False: nobody said what it is, and it leads to this machine. */
    isPublicUrlSet: boolean;
    steam: { openIdUrl: string };
    discord: { apiUrl: string; clientId: string | undefined; clientSecret: string | undefined };
    ownerSteamIds: readonly SteamId64[];
    tokensFor: TokenAudience;
    site: {
      name: string | undefined;
      logoUrl: string | undefined;
      accent: string | undefined;
      discordInviteUrl: string | undefined;
    };
    /** Whether everybody may see the list of penalties. */
    arePenaltiesPublic: boolean;
    /** Where players ask for a penalty to be lifted. */
    appealUrl: string | undefined;
  };
  /** Deletes an account with all that belongs to it, files too. */
  deleteAccount: (steamId64: SteamId64) => Promise<void>;
  /** Names of people, by Steam's Web API. */
  steamApi: SteamApi;
  /** Signs sessions, states and CSRF tokens; see {@link loadSessionSecret}. */
  sessionSecret: string;
  /** The key of a visitor's limits: their address; behind trusted proxies the one that those name. */
  clientKey: (incoming: Incoming) => string;
  /** Called once a token is revoked, so that this process refuses it before the notification comes. */
  onTokenRevoked?: () => void;
  /** Starts and returns of a sign-in or link by address, and forms by user: each a minute. */
  limits: {
    attempts: Limiter;
    forms: Limiter;
    /** Pages about servers, by address: as many a minute as the public API allows. */
    pages: Limiter;
  };
  log: { info: (fields: object, message: string) => void; error: (fields: object, message: string) => void };
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  now?: () => Date;
  /** Round-end sounds: what is done with them, and within which limits. */
  sounds: SoundStore;
  webhooks: WebhookActions;
  status: StatusDeps;
  /** Given by the demo alone: whom its visitors sign in as with a button. */
  demoPeople?: DemoPeople | undefined;
};
