import type { Db } from '../../../src/db/client.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { openPersonExport } from '../../../src/queries/personal-data/export.ts';
import { urlOf } from './database.ts';

/** A person's data as its file has them; undefined when nothing is stored. */
export async function readPerson(
  db: Db,
  steamId64: SteamId64,
  options: Parameters<typeof openPersonExport>[2],
) {
  const opened = await openPersonExport({ databaseUrl: urlOf(db), db }, steamId64, options);
  if (!opened) return undefined;
  const chunks = await Array.fromAsync(opened.chunks);
  await opened.close();
  return JSON.parse(Buffer.concat(chunks).toString());
}
