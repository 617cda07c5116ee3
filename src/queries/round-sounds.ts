import { eq } from 'drizzle-orm';
import { type Db, prepared } from '../db/client.ts';
import { roundSounds } from '../db/schema.ts';
import type { SteamId64 } from '../steam-id.ts';

/** Title of every published sound, by player. */
export async function listReadySounds(db: Db): Promise<{ steamId64: SteamId64; title: string }[]> {
  return prepared(db, 'ready_sounds', (handle) =>
    handle
      .select({ steamId64: roundSounds.steamId64, title: roundSounds.title })
      .from(roundSounds)
      .where(eq(roundSounds.status, 'ready'))
      .prepare('ready_sounds'),
  ).execute();
}
