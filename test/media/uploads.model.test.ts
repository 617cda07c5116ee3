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
import {
  type Interruption,
  PLAYERS,
  type UploadAction,
  type UploadStep,
  uploadHistory,
} from '../support/uploads/history.ts';
import * as model from '../support/uploads/model.ts';
import { replayFfmpeg } from '../support/uploads/replayed-ffmpeg.ts';
import { renderEach, UPLOADS } from '../support/uploads/sounds.ts';
import { type WorkerStep, Workers } from '../support/uploads/workers.ts';
import { waitFor } from '../support/wait.ts';

setDefaultTimeout(600_000);

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

type Listed = { player: string; title?: string; sound?: model.SoundName; voice?: model.SoundName };

/** One history, and the worlds that everything seen so far allows. */
class Play {
  private worlds: model.World[] = [{ rows: [], members: PLAYERS }];
  private readonly seen: string[] = [];
  private readonly userIds = new Map<SteamId64, number>();
  private uploads = 0;
  private steps = 0;
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
        else this.keep([[model.list(await this.look())]]);
      }
      await this.end();
    } finally {
      await this.workers.killHanging();
    }
  }

  /** No dead worker holds anything, the queue is worked off, disk and rows are compared: nothing is lost or left over. */
  private async end(): Promise<void> {
    await this.workers.killHanging();
    await this.lapse();
    do await this.perform([{ kind: 'work', interruption: undefined }]);
    while (this.worlds.some(({ rows }) => rows.some(({ status }) => status === 'waiting')));
    await reconcileSounds(db, folders, QUEUE_LOG, { graceMs: 0 });
    const listed = await this.look();
    this.keep([[model.list(listed)]]);
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

  /** Goes on with the worlds in which all that can be seen. */
  private keep(doers: readonly (readonly model.Event[])[]): void {
    const after = model.follow(this.worlds, doers);
    if (after.length === 0)
      throw new Error(`not possible:\n${this.seen.join('\n')}\n${JSON.stringify(this.worlds)}`);
    this.worlds = after;
  }

  private async lapse(): Promise<void> {
    await connection`update round_sounds set claimed_until = now() - interval '1 second' where claimed_until is not null`;
    this.keep([[model.lapse]]);
  }

  private async act(action: UploadAction, isAlone: boolean): Promise<model.Event[]> {
    if (action.kind === 'upload') return this.upload(action);
    if (action.kind === 'work') return this.work(action.interruption, isAlone);
    if (action.kind === 'resume') {
      const step = await this.workers.resume();
      return step ? this.finish(step) : [];
    }
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
      return this.saw(`delete ${player}: ${result}`, model.remove(player, result));
    }
    if (action.kind === 'erase') {
      await erasePlayer(db, folders, { steamId64: player, withPenalties: false, actor: 'operator' });
      return this.saw(`erase ${player}`, model.erase(player));
    }
    const sound = await this.download(player);
    return this.saw(`${player} sounds as ${sound}`, model.hear(player, sound));
  }

  private async upload({ player, sound, isMember, killedBefore }: UploadAction & { kind: 'upload' }) {
    this.uploads += 1;
    const title = `s${this.uploads}`;
    const actor = isMember ? { userId: this.userIds.get(player) ?? 0 } : 'operator';
    const store = async (own: Db): Promise<void> => {
      const bytes = new Blob([new Uint8Array(UPLOADS[sound])]).stream();
      const upload = { steamId64: player, fileName: title, bytes, actor } as const;
      await storeUpload(own, folders, { upload, maxBytes: 1_000_000 });
    };
    const interruption =
      killedBefore === undefined ? undefined : ({ end: 'kill', before: 'query', nth: killedBefore } as const);
    const result = await this.workers
      .run(interruption, store)
      .then(
        (end) => (end === 'done' ? ('accepted' as const) : ('killed' as const)),
        unlessNotFound('refused' as const),
      );
    const event = model.upload({ title, player, sound, isMember }, result);
    return this.saw(`upload of ${title} (${sound}) for ${player}: ${result}`, event);
  }

  private async work(interruption: Interruption | undefined, isAlone: boolean): Promise<model.Event[]> {
    this.steps += 1;
    const step =
      this.engine === 'real' && interruption?.end === 'kill'
        ? await this.workers.workInProcess(this.steps, interruption)
        : await this.workers.work(this.steps, interruption);
    const claim = model.claim(step.worker, step.title, { isAlone });
    // Killed before it could claim, or say so.
    if (step.title === undefined && interruption) return [];
    return [...this.saw(`worker ${step.worker} claims ${step.title}`, claim), ...this.finish(step)];
  }

  private finish({ worker, outcome }: WorkerStep): model.Event[] {
    if (outcome === undefined) return [];
    return this.saw(`worker ${worker}: ${JSON.stringify(outcome)}`, model.finish(worker, outcome));
  }

  private saw(what: string, event: model.Event): model.Event[] {
    this.seen.push(what);
    return [event];
  }

  private async download(
    player: string,
    rendition: Rendition = 'stereo',
  ): Promise<model.SoundName | undefined> {
    const response = await fetch(
      `${service.origin}/storage/roundsound/${soundFileName(player as SteamId64, rendition)}`,
    );
    const bytes = await response.bytes();
    if (response.status === 404) return undefined;
    const hash = new Bun.CryptoHasher('sha256').update(bytes).digest('hex');
    return nameOf(hash, rendition);
  }

  /** What the batch route gives. */
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

/** @throws when these are not the bytes of any whole sound. */
function nameOf(sha256: string, rendition: Rendition): model.SoundName {
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

test(`${WHAT}, whoever is killed, with ffmpeg replayed`, () =>
  tryHistories('uploads', uploadHistory, (steps) => new Play('replayed').run(steps), {
    // Each takes half a second.
    runs: Math.ceil(RUNS / 2),
  }));

test(`${WHAT}, with the real ffmpeg and processes that are killed`, () =>
  tryHistories('uploads with ffmpeg', uploadHistory, (steps) => new Play('real').run(steps), {
    // Each takes some seconds.
    runs: Math.ceil(RUNS / 80),
  }));
