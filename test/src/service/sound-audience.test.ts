import { expect, test } from 'bun:test';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { users } from '../../../src/db/schema/accounts.ts';
import { soundFileName } from '../../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../../src/domain/steam-id.ts';
import { listPublishedRoundSounds } from '../../../src/queries/round-sounds/round-sounds.ts';
import { publishedPath } from '../../support/audio/sound-folders.ts';
import { aSteamId, insertReadySound, insertUser } from '../../support/database/builders.ts';
import { createTestDatabase } from '../../support/database/database.ts';
import { createTestFolder } from '../../support/service/program.ts';
import { startTestService } from '../../support/service/service.ts';
import { waitFor } from '../../support/wait.ts';

const { db, url } = await createTestDatabase();
const folder = createTestFolder();

const [SVIP, OWNER, PLAIN, UNKNOWN] = [aSteamId(1), aSteamId(2), aSteamId(3), aSteamId(4)];
const AUDIENCE = ['svip', 'admin'] as const;
await insertUser(db, 1, { hasSvip: true });
await insertUser(db, 2, { isOwner: true });
await insertUser(db, 3, { isServiceplus: true });
for (const player of [SVIP, OWNER, PLAIN, UNKNOWN]) await publish(player);

const service = await startTestService({
  databaseUrl: url,
  env: { SOUND_FOR: AUDIENCE.join(','), STORAGE_DIR: folder },
});

const HEARD = { lookup: true, stereo: 200, voice: 200 };
const SILENT = { lookup: false, stereo: 404, voice: 404 };

test('SOUND_FOR leaves sounds only to its groups, in lookups, files and the batch; owners count as admins', async () => {
  expect(await isHeard(SVIP)).toEqual(HEARD);
  expect(await isHeard(OWNER)).toEqual(HEARD);
  for (const player of [PLAIN, UNKNOWN]) {
    expect(await isHeard(player)).toEqual(SILENT);
  }
  const all = [SVIP, OWNER, PLAIN, UNKNOWN];
  const found = await listPublishedRoundSounds(db, all, { audience: AUDIENCE });
  expect(found.map(({ steamId64 }) => steamId64).sort()).toEqual([SVIP, OWNER]);
  expect(await listPublishedRoundSounds(db, all)).toHaveLength(4);
});

test('a player who loses the right is no longer heard within 5 s, and is heard again once they have it back', async () => {
  const give = (hasSvip: boolean) => db.update(users).set({ hasSvip }).where(eq(users.steamId64, SVIP));
  await give(false);
  const isSilent = async () => !(await isHeard(SVIP)).lookup;
  await waitFor(isSilent);
  expect(await isHeard(SVIP)).toEqual(SILENT);
  await give(true);
  await waitFor(async () => !(await isSilent()));
  expect(await isHeard(SVIP)).toEqual(HEARD);
});

test('a player whose first sign-in makes them an admin is heard', async () => {
  await insertUser(db, 4, { isAdmin: true });
  await waitFor(async () => (await isHeard(UNKNOWN)).lookup);
});

async function isHeard(player: SteamId64): Promise<{ lookup: boolean; stereo: number; voice: number }> {
  const { body } = await service.ask(`/api/v1/players/${player}/roundsound`);
  const statusOf = async (rendition: 'stereo' | 'voice') =>
    (await service.ask(`/storage/roundsound/${soundFileName(player, rendition)}`)).status;
  return {
    lookup: Bun.deepEquals(body, { success: false, url: null, title: null }) === false,
    stereo: await statusOf('stereo'),
    voice: await statusOf('voice'),
  };
}

async function publish(player: SteamId64): Promise<void> {
  const published = join(folder, 'roundsound');
  await mkdir(published, { recursive: true });
  for (const rendition of ['stereo', 'voice'] as const) {
    await Bun.write(publishedPath({ published }, player, rendition), `${rendition} of ${player}`);
  }
  await insertReadySound(db, player);
}
