import type { RequestDb } from '../../src/db/client.ts';
import type { Panel } from '../../src/domain/panel.ts';
import type { Actor } from '../../src/domain/rights/actor.ts';
import type { SoundAudience } from '../../src/domain/rights/sound-audience.ts';
import type { SoundStart } from '../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import type { WebhookActions } from '../../src/events/webhooks/actions.ts';
import type { Lifts } from '../../src/import/lifting.ts';
import type { Config } from '../../src/runtime/config.ts';
import type { LookUpSteamBans } from '../../src/steam/bans.ts';
import type { SteamApi } from '../../src/steam/steam-api.ts';
import type { ClientKey } from '../http/client-address.ts';
import type { LogTrouble } from '../http/error-handler.ts';
import type { Downloads } from './account/downloads.ts';
import type { DemoPeople } from './sign-in/demo-sign-in.tsx';
import type { StatusDeps } from './status/status-routes.tsx';

export type Limiter = {
  take: (key: string) => LimitState | Promise<LimitState>;
};
/** Whether a request is within the limit, and the seconds until the limit resets. */
type LimitState = { isAllowed: boolean; resetSeconds: number };

type PageSettings = Pick<Config, 'publicUrl' | 'isPublicUrlSet' | 'ownerSteamIds' | 'moderatorSteamIds'> &
  Pick<Config, 'site' | 'timeZone' | 'arePenaltiesPublic' | 'appealUrl' | 'appeals' | 'tokensFor'> & {
    steam: Pick<Config['steam'], 'openIdUrl'>;
    discord: Pick<Config['discord'], 'apiUrl' | 'clientId' | 'clientSecret'>;
  };

/** The dependencies of the pages. */
export type PagesDeps = {
  db: RequestDb;
  settings: PageSettings;
  /** Deletes an account with all of its data, including files. */
  deleteAccount: (steamId64: SteamId64) => Promise<void>;
  downloads: Downloads;
  /** Steam's Web API, for persona names and custom profile addresses. */
  steamApi: SteamApi;
  /** Absent without `STEAM_API_KEY`. */
  lookUpSteamBans?: LookUpSteamBans | undefined;
  /** Signs sessions, states and CSRF tokens; see {@link loadSessionSecret}. */
  sessionSecret: string;
  /** The rate limit key of a visitor: their IP address; behind trusted proxies, the address that these report. */
  clientKey: ClientKey;
  /** Called after a token is revoked, so that this process refuses it before the NOTIFY arrives. */
  onTokenRevoked: () => void;
  /** Counts a sign-in or link that failed because Steam or Discord did. */
  onProviderFailed?: (provider: 'steam' | 'discord') => void;
  /** Rate limits per minute. */
  limits: {
    /** Starts and callbacks of sign-ins and of Discord links, by IP address. */
    attempts: Limiter;
    /** Submitted forms and downloads of own data, by user. */
    forms: Limiter;
    /** Pages for visitors who are not signed in, error pages too, by IP address. */
    pages: Limiter;
    /** Limits session lookups by IP address, because the user is unknown until then. */
    sessions: Limiter;
    /** Pages that signed-in users open, by user. */
    userPages: Limiter;
    /** Server banners, by IP address. */
    banners: Limiter;
  };
  log: Record<'info' | 'warn' | 'error', (fields: object, message: string) => void>;
  logTrouble: LogTrouble;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  now?: () => Date;
  /** Round-end sounds: how they are stored and removed, and their limits. */
  sounds: SoundActions;
  webhooks: WebhookActions;
  /** The panels of the systems that penalties come from. */
  panels: readonly Panel[];
  /** Lifts penalties at their sources. */
  lifts: Lifts;
  status: StatusDeps;
  /** The users that visitors can sign in as; only set in the demo. */
  demoPeople?: DemoPeople | undefined;
};

/** Storing and removing round-end sounds, and the limits of uploads. */
type SoundActions = {
  limits: {
    maxSeconds: number;
    maxUploadBytes: number;
    /** Who may have a sound. */
    audience: SoundAudience;
  };
  /**
   * Stores the bytes of an upload, and returns its key.
   * @throws {InvalidInput} for an empty or too large file · {Unavailable} when there is no free space.
   */
  receiveUpload: (steamId64: SteamId64, bytes: AsyncIterable<Uint8Array>) => Promise<string>;
  /** Queues an upload that was received. */
  queueUpload: (upload: {
    steamId64: SteamId64;
    uploadKey: string;
    fileName: string;
    start: SoundStart | undefined;
    actor: Actor;
  }) => Promise<unknown>;
  /** @throws {NotFound} when the player has none. */
  removeSound: (removal: { steamId64: SteamId64; actor: Actor }) => Promise<void>;
};
