import { afterAll, expect, setDefaultTimeout, test } from 'bun:test';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Ffmpeg } from '../../media/ffmpeg/ffmpeg.ts';
import { reconcileSounds } from '../../media/reconcile.ts';
import { openSoundFolders } from '../../media/sound-folders.ts';
import { removeSound, storeUpload } from '../../media/uploads.ts';
import type { Db } from '../../src/db/client.ts';
import { NotFound } from '../../src/domain/errors.ts';
import { type Rendition, soundFileName } from '../../src/domain/round-sound.ts';
import type { SteamId64 } from '../../src/domain/steam-id.ts';
import { erasePlayer } from '../../src/service/parts/erase-player.ts';
import { makeFolder } from '../support/audio/ffmpeg-engines.ts';
import { openQueueEngine, QUEUE_LOG } from '../support/audio/sound-queue.ts';
import { insertUser } from '../support/database/builders.ts';
import { createTestDatabase } from '../support/database/database.ts';
import { RUNS, tryHistories } from '../support/model.ts';
import { startTestService } from '../support/service/service.ts';
import type { Progress } from '../support/uploads/attempt.ts';
import {
  type Interruption,
  PLAYERS,
  type UploadAction,
  type UploadStep,
  uploadHistory,
} from '../support/uploads/history.ts';
import type { Interrupter } from '../support/uploads/interruptible.ts';
import type { SoundName, World } from '../support/uploads/model.ts';
import * as model from '../support/uploads/model.ts';
import { type Change, type Event, follow, happened, mayHaveHappened } from '../support/uploads/orders.ts';
import { replayFfmpeg } from '../support/uploads/replayed-ffmpeg.ts';
import { renderEach, sendSlowly, UPLOADS } from '../support/uploads/sounds.ts';
import { Workers } from '../support/uploads/workers.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(1_200_000);

const { db, connection, url: databaseUrl } = await createTestDatabase();
const home = await makeFolder('uploads');
const dataDir = join(home.path, 'data');
const storageDir = join(home.path, 'storage');
const folders = await openSoundFolders({ dataDir, storageDir });
const service = await startTestService({
  databaseUrl,
  env: { DATA_DIR: dataDir, STORAGE_DIR: storageDir },
});
const ffmpeg = await openQueueEngine(home.path);
const replayed = replayFfmpeg(ffmpeg);
const rendered = await renderEach(replayed, home.path);
const openWorkers = (engine: Ffmpeg) => new Workers({ connection, databaseUrl, folders, ffmpeg: engine });
const workers = { real: openWorkers(ffmpeg), replayed: openWorkers(replayed) };
afterAll(async () => {
  await Promise.all(Object.values(workers).map((one) => one.end()));
  await ffmpeg.close();
  await home.remove();
});

type Listed = { player: string; title?: string; sound?: SoundName; voice?: SoundName };

/** One history, and the worlds (possible states) that fit everything observed so far. */
class Play {
  private worlds: World[] = [{ members: PLAYERS, rows: [] }];
  private readonly seen: string[] = [];
  private readonly userIds = new Map<SteamId64, number>();
  /** The hanging actions, the oldest first; calling one lets it continue. */
  private readonly hanging: (() => Promise<Event[]>)[] = [];
  private uploads = 0;
  private readonly workers: Workers;

  /** @param engine with the real ffmpeg, workers are killed as processes, too. */
  constructor(private readonly engine: keyof typeof workers) {
    this.workers = workers[engine];
  }

  async run(steps: readonly UploadStep[]): Promise<void> {
    await connection`delete from round_sounds`;
    await connection`delete from users`;
    for (const folder of Object.values(folders)) {
      for (const name of await readdir(folder).catch(() => []))
        await rm(join(folder, name), { recursive: true });
    }
    for (const [index, player] of PLAYERS.entries()) {
      this.userIds.set(player, (await insertUser(db, index + 1)).id);
    }
    try {
      for (const step of steps) {
        if (step.kind === 'at once') await this.perform(step.actions);
        else if (step.kind === 'lapse') await this.lapse();
        else this.keep([[isListed(await this.look())]]);
      }
      await this.end();
    } finally {
      await this.workers.killHanging();
    }
  }

  /** Ends dead workers' leases, empties the queue and compares disk and rows: nothing is lost or left over. */
  private async end(): Promise<void> {
    await this.workers.killHanging();
    await this.lapse();
    do await this.perform([{ kind: 'work', interruption: undefined }]);
    while (this.worlds.some((world) => model.listUnfinished(world).length > 0));
    await reconcileSounds(db, folders, QUEUE_LOG, { graceMs: 0 });
    const listed = await this.look();
    this.keep([[isListed(listed)]]);
    for (const player of PLAYERS) await this.perform([{ kind: 'hear', player }]);
    const withSound = listed.filter(({ title }) => title !== undefined);
    const names = withSound.flatMap(({ player }) => [`${player}.mp3`, `${player}.voice.mp3`]);
    expect({
      published: (await readdir(folders.published)).sort(),
      inbox: await readdir(folders.inbox),
      orphans: await readdir(folders.orphans).catch(() => []),
      voices: withSound.map(({ voice }) => voice),
      voicesOnDisk: await Promise.all(withSound.map(({ player }) => this.download(player, 'voice'))),
    }).toEqual({
      published: ['.published-sounds', ...names].sort(),
      inbox: [],
      orphans: [],
      voices: withSound.map(({ sound }) => sound),
      voicesOnDisk: withSound.map(({ sound }) => sound),
    });
    for (const { player, title = null } of listed) {
      const path = `/api/v1/players/${player}/roundsound`;
      const find = async () => ((await service.ask(path)).body as { title: string | null }).title;
      await waitFor(async () => (await find()) === title, { what: `${player} has ${title}` });
    }
  }

  private async perform(actions: readonly UploadAction[]): Promise<void> {
    const isAlone = actions.length === 1;
    this.keep(await Promise.all(actions.map((action) => this.act(action, isAlone))));
  }

  /** Keeps only the worlds in which these events are possible. */
  private keep(doers: readonly (readonly Event[])[]): void {
    const after = follow(this.worlds, doers);
    if (after.length === 0)
      throw new Error(`not possible:\n${this.seen.join('\n')}\n${JSON.stringify(this.worlds)}`);
    this.worlds = after;
  }

  private async lapse(): Promise<void> {
    await connection`update round_sounds set claimed_until = now() - interval '1 second' where claimed_until is not null`;
    this.keep([[happened(model.lapse)]]);
  }

  private async act(action: UploadAction, isAlone: boolean): Promise<Event[]> {
    if (action.kind === 'upload') return this.upload(action);
    if (action.kind === 'work') return this.work(action.interruption, isAlone);
    if (action.kind === 'resume') return (await this.hanging.shift()?.()) ?? [];
    if (action.kind === 'reconcile') {
      await reconcileSounds(db, folders, QUEUE_LOG);
      return [];
    }
    const { player } = action;
    if (action.kind === 'delete') {
      const result = await removeSound(db, folders, { steamId64: player, actor: 'operator' }).then(
        () => 'removed' as const,
        unlessNotFound('none' as const),
      );
      return this.saw(
        `delete ${player}: ${result}`,
        (world) => model.remove(world, player) === (result === 'removed'),
      );
    }
    if (action.kind === 'erase') {
      await erasePlayer(db, folders, { steamId64: player, withPenalties: false, actor: 'operator' });
      return this.saw(`erase ${player}`, (world) => model.erase(world, player));
    }
    const sound = await this.download(player);
    return this.saw(
      `${player} sounds as ${sound}`,
      (world) => model.findSound(world, player, ['ready', 'in place'])?.sound === sound,
    );
  }

  private async upload({ player, sound, isMember, interruption }: UploadAction & { kind: 'upload' }) {
    this.uploads += 1;
    const title = `s${this.uploads}`;
    const actor = isMember ? { userId: this.userIds.get(player) ?? 0 } : 'operator';
    let result: 'killed' | 'accepted' | 'refused' = 'killed';
    const store = async (own: Db, interrupter: Interrupter): Promise<void> => {
      const file = {
        steamId64: player,
        fileName: title,
        bytes: sendSlowly(UPLOADS[sound], interrupter),
        actor,
      } as const;
      result = await storeUpload(own, folders, { upload: file, maxBytes: 1_000_000 }).then(
        () => 'accepted' as const,
        unlessNotFound('refused' as const),
      );
    };
    const tell = () => {
      const given = { title, player, sound, isMember };
      const change: Change = (world) => model.upload(world, given) === (result !== 'refused');
      const what = `upload of ${title} (${sound}) for ${player}: ${result}`;
      return this.saw(what, change, result === 'killed' ? mayHaveHappened : happened);
    };
    const end = await this.workers.run(interruption, store);
    if (typeof end !== 'object') return tell();
    this.hanging.push(() => end.resume().then(tell));
    return [];
  }

  private async work(interruption: Interruption | undefined, isAlone: boolean): Promise<Event[]> {
    const isProcess = this.engine === 'real' && interruption?.end === 'kill';
    const { progress, resume } = isProcess
      ? await this.workers.workInProcess(interruption)
      : await this.workers.work(interruption);
    const { claim: own } = progress;
    // Killed before it could claim, or say so.
    if (!own && interruption) return [];
    const claimed = this.saw(`a worker claims ${JSON.stringify(own)}`, (world) =>
      model.claim(world, own, isAlone),
    );
    if (!resume) return [...claimed, ...this.finish(progress)];
    this.hanging.push(async () => this.finish(await resume()));
    return claimed;
  }

  private finish({ claim: own, outcome }: Progress): Event[] {
    if (!own) return [];
    return this.saw(`${JSON.stringify(own)}: ${outcome}`, (world) => model.finish(world, own, outcome));
  }

  private saw(what: string, change: Change, toEvent = happened): Event[] {
    this.seen.push(what);
    return [toEvent(change)];
  }

  private async download(player: string, rendition: Rendition = 'stereo'): Promise<SoundName | undefined> {
    const response = await fetch(
      `${service.origin}/storage/roundsound/${soundFileName(player as SteamId64, rendition)}`,
    );
    const bytes = await response.bytes();
    if (response.status === 404) return undefined;
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    return nameOf(hash, rendition);
  }

  /** What the batch route returns. */
  private async look(): Promise<Listed[]> {
    const { body } = await service.get(`/players/roundsounds?steamids=${PLAYERS}`);
    const { data } = body as { data: BatchSound[] };
    const listed = data.map(({ steamid64: player, title, sha256, voice_sha256: voice }) => ({
      player,
      ...(title !== undefined && { title }),
      ...(sha256 !== undefined && { sound: nameOf(sha256, 'stereo') }),
      ...(voice !== undefined && { voice: nameOf(voice, 'voice') }),
    }));
    this.seen.push(`listed: ${JSON.stringify(listed)}`);
    return listed;
  }
}

type BatchSound = { steamid64: string; title?: string; sha256?: string; voice_sha256?: string };

/** Whether every sound that the service lists is the one in the model. */
function isListed(listed: readonly Listed[]): Event {
  return happened((world) =>
    listed.every(({ player, title, sound }) => {
      const known = model.findSound(world, player, ['ready']);
      return known?.title === title && known?.sound === sound;
    }),
  );
}

/** @throws when the bytes are not those of a complete sound. */
function nameOf(sha256: string, rendition: Rendition): SoundName {
  const name = rendered[rendition].get(sha256);
  if (!name) throw new Error(`no whole sound: ${sha256}`);
  return name;
}

function unlessNotFound<T>(result: T): (error: unknown) => T {
  return (error) => {
    if (error instanceof NotFound) return result;
    throw error;
  };
}

const WHAT =
  'no upload or deletion that was acknowledged is lost or undone, and the folder holds what is listed';

test(`${WHAT}, whatever is killed, with ffmpeg replayed`, () =>
  tryHistories('uploads', uploadHistory, (steps) => new Play('replayed').run(steps), {
    // Each takes an eighth of a second of processor time, so few are run unless many are asked for.
    runs: RUNS >= 400 ? 5 * RUNS : Math.ceil(RUNS / 2),
    limitMs: 600_000,
  }));

test(`${WHAT}, with the real ffmpeg and processes that are killed`, () =>
  tryHistories('uploads with ffmpeg', uploadHistory, (steps) => new Play('real').run(steps), {
    // Each takes some seconds.
    runs: Math.ceil(RUNS / 80),
  }));
