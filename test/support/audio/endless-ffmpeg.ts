import { RENDER_LIMITS } from '../../../media/ffmpeg/ffmpeg.ts';
import { openEngine } from './ffmpeg-engines.ts';

/** Writing to a pipe that nobody reads would end ffmpeg, too. */
const SILENT = ['-v', 'quiet', '-nostats'];

/** A process whose ffmpeg would run for half a minute on `tone.wav` in the folder given; says when it begins. */
const [directory = ''] = process.argv.slice(2);
const ffmpeg = await openEngine('native');
console.log('running');
await ffmpeg.run(
  {
    directory,
    input: { name: 'tone.wav', options: [...SILENT, '-stream_loop', '-1', '-f', 'wav'] },
    output: { options: ['-af', 'aresample=192000'] },
  },
  RENDER_LIMITS,
);
