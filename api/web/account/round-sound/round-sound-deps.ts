import type { Db } from '../../../../src/db/client.ts';
import type { Actor } from '../../../../src/domain/rights/actor.ts';
import type { SoundAudience } from '../../../../src/domain/rights/sound-audience.ts';
import type { SoundUpload } from '../../../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import type { Site } from '../../layout/layout.tsx';
import type { Redirect } from '../../request/notice.ts';
import type { Signer } from '../../request/signing.ts';

/** Storing and removing round-end sounds, and the limits of uploads. */
export type SoundStore = {
  limits: {
    maxSeconds: number;
    maxUploadBytes: number;
    /** Who may have a sound; everyone by default. */
    audience?: SoundAudience;
  };
  /** @throws {InvalidInput} for an empty or too large file · {Unavailable} when there is no free space. */
  storeUpload: (upload: SoundUpload) => Promise<unknown>;
  /** @throws {NotFound} when the player has none. */
  removeSound: (removal: { steamId64: SteamId64; actor: Actor }) => Promise<void>;
};

export type RoundSoundDeps = { db: Db; site: Site; signer: Signer; redirect: Redirect; sounds: SoundStore };
