import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { eq } from 'drizzle-orm';
import { inTransaction } from '../../src/db/client.ts';
import { roundSounds } from '../../src/db/schema/round-sounds.ts';
import { aSteamId, insertReadySound } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { findFreePort } from '../support/machine/free-port.ts';
import { hash } from '../support/service/backups.ts';
import { createServices, waitForOrigin } from '../support/service/program.ts';
import { waitForProcess } from '../support/wait.ts';

setDefaultTimeout(120_000);

const hasMono = Bun.which('mcs') !== null && Bun.which('mono') !== null;
if (!hasMono) console.warn('SKIPPED: the example for plugins, since there is no Mono');
test('CI has Mono, so that the example for plugins is tried there', () => {
  expect(hasMono || !process.env.CI).toBe(true);
});

/** One more than one request may ask for. The player with a sound is in the second request: ids are sent in order. */
const CROWD = Array.from({ length: 100 }, (_, index) => aSteamId(index + 1));
const [PLAYER, NOBODY] = [aSteamId(500), aSteamId(1)];
const { db, url } = await createTestDatabase();
const port = findFreePort();
const { folder, start } = createServices(url, {
  PORT: String(port),
  PUBLIC_URL: `http://127.0.0.1:${port}`,
});

/** Publishes a voice file, which is text here, as the media role does. */
async function publish(text: string, sha256 = hash(text)): Promise<void> {
  const published = join(folder, 'storage/roundsound');
  await Bun.write(join(published, '.next'), text);
  await rename(join(published, '.next'), join(published, `${PLAYER}.voice.mp3`));
  await inTransaction(db, async (tx) => {
    await tx.delete(roundSounds).where(eq(roundSounds.steamId64, PLAYER));
    await insertReadySound(tx, PLAYER, 'track.wav', { voiceSha256: sha256, voiceSizeBytes: text.length });
  });
}

test.skipIf(!hasMono)(
  'the example for CounterStrikeSharp compiles against the types that it uses',
  async () => {
    const sources = ['docs/examples/RoundSounds.cs', 'docs/examples/RoundSoundsPlugin.cs'];
    const stubs = 'test/support/docs/plugin/CounterStrikeSharp.cs';
    await Bun.$`mcs -target:library -r:System.Net.Http -r:System.Runtime.Serialization -out:${join(folder, 'plugin.dll')} ${sources} ${stubs}`.quiet();
  },
);

test.skipIf(!hasMono)('the example keeps the sounds of the players, and hears of changes', async () => {
  await publish('before');
  const origin = await waitForOrigin(start());
  const program = join(folder, 'RoundSounds.exe');
  await Bun.$`mcs -r:System.Net.Http -r:System.Runtime.Serialization -out:${program} docs/examples/RoundSounds.cs`;
  const example = Bun.spawn(['mono', program, `${origin}/api/v1`], { stdin: 'pipe', stdout: 'pipe' });
  afterAll(() => example.kill());
  let output = '';
  const read = (async () => {
    for await (const chunk of example.stdout) output += Buffer.from(chunk).toString();
  })();
  /** Tells what happens in the game. @returns the lines that follow it. */
  const tell = async (line: string, expected: RegExp): Promise<void> => {
    await waitForProcess(async () => {
      output = '';
      example.stdin.write(`${line}\n`);
      example.stdin.flush();
      await waitForProcess(() => output.includes('\n'));
      return expected.test(output);
    });
  };
  await tell(`map ${[...CROWD, PLAYER]}`, new RegExp(`^ready: ${PLAYER}$`, 'm'));
  await tell(`end ${PLAYER}`, /^play 6 bytes$/m);
  await tell(`end ${NOBODY}`, /^silence$/m);
  await tell(`leave ${PLAYER}\nend ${PLAYER}`, /^silence$/m);
  // The response is 304 now, as nothing has changed.
  await tell(`join ${PLAYER}`, new RegExp(`^ready: ${PLAYER}$`, 'm'));
  // Another map, without them; then they are there again.
  await tell(`map ${NOBODY}\nend ${PLAYER}`, /^silence$/m);
  await tell(`map ${PLAYER},${NOBODY}`, new RegExp(`^ready: ${PLAYER}$`, 'm'));

  await publish('a new sound');
  await tell(`end ${PLAYER}`, /^play 11 bytes$/m);
  // What is not the file of its hash is not played.
  await publish('another one', hash('something else'));
  await waitForProcess(() => output.includes('ready'));
  await tell(`end ${PLAYER}`, /^play 11 bytes$/m);
  await db.delete(roundSounds);
  await tell(`end ${PLAYER}`, /^silence$/m);
  example.stdin.end();
  expect(await example.exited).toBe(0);
  await read;
});
