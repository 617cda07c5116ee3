import { openSoundFolders, type SoundFolders } from '../../media/sound-folders.ts';
import { placeRestoredSounds } from '../backup/restore-sounds.ts';
import type { Session } from './session.ts';

/** The folders as the service would find them: after a restore that was killed, its sounds are placed first. */
export async function openPlacedSounds(session: Session): Promise<SoundFolders> {
  const { connection } = await session.database();
  const folders = await openSoundFolders(session.config());
  await placeRestoredSounds(connection, folders);
  return folders;
}
