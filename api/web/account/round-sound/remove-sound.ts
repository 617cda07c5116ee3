import { NotFound } from '../../../../src/domain/errors.ts';
import type { SteamId64 } from '../../../../src/domain/steam-id.ts';
import type { NoticeKey } from '../../layout/locales/texts.ts';
import type { MemberVisit } from '../../request/visit.ts';
import type { RoundSoundDeps } from './round-sound-deps.ts';

/**
 * Removes a player's sound in the name of the visitor.
 * @returns what to tell them: the sound may already be gone, for example by the same form in another tab.
 */
export async function removeSoundOf(
  { sounds }: Pick<RoundSoundDeps, 'sounds'>,
  steamId64: SteamId64,
  { user }: Pick<MemberVisit, 'user'>,
): Promise<NoticeKey> {
  try {
    await sounds.removeSound({ steamId64, actor: { userId: user.id } });
    return 'sound-removed';
  } catch (error) {
    if (!(error instanceof NotFound)) throw error;
    return 'sound-already-removed';
  }
}
