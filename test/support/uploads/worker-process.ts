import type { SoundFolders } from '../../../media/sound-folders.ts';
import { connect, openDrizzle } from '../../../src/db/client.ts';
import { openQueueEngine } from '../audio/sound-queue.ts';
import { attemptUpload } from './attempt.ts';
import type { Interruption } from './history.ts';
import { Interrupter } from './interruptible.ts';

/** A process that makes one step of a worker, says in JSON lines how far it is, and kills itself where it is told to. */
const [url = '', name = '', folderNames = '', interruption = ''] = process.argv.slice(2);

const folders = JSON.parse(folderNames) as SoundFolders;
const [applicationName = '', owner = ''] = name.split(' ');
const db = openDrizzle(connect(url, { max: 2, applicationName, owner }));
const ffmpeg = await openQueueEngine(folders.inbox);
const interrupter = new Interrupter(JSON.parse(interruption) as Interruption, () =>
  process.kill(process.pid, 'SIGKILL'),
);
await attemptUpload({ db, ffmpeg, folders }, interrupter, (progress) =>
  console.log(JSON.stringify(progress)),
);
process.exit(0);
