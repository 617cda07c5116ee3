import type { FfmpegJob } from '../ffmpeg/ffmpeg.ts';
import type { GainTask } from './gain.ts';
import { DECODED_FORMAT, type PcmFormat } from './pcm.ts';
import { QUIET } from './run-ffmpeg.ts';

/** Fixed by MPEG-1 Audio Layer III. */
export const FRAMES_PER_MP3_FRAME = 1152;

/** An MP3 of constant bit rate. */
export type Mp3Format = PcmFormat & {
  fileName: string;
  bitRateKbps: number;
} & Pick<GainTask, 'encoderLossDb' | 'limiterCeilingDb' | 'maxReductionDb'>;

export const SOUND_NAME = 'sound.mp3';
export const SOUND_FORMAT: Mp3Format = {
  ...DECODED_FORMAT,
  fileName: SOUND_NAME,
  bitRateKbps: 192,
  encoderLossDb: 0.264,
  limiterCeilingDb: -1.5,
  maxReductionDb: 6,
};

export const VOICE_NAME = 'voice.mp3';
export const VOICE_FORMAT: Mp3Format = {
  fileName: VOICE_NAME,
  sampleRate: 48_000,
  channels: 1,
  bitRateKbps: 96,
  encoderLossDb: 0.4,
  limiterCeilingDb: -2,
  // One channel replaces two, so peaks rise by 3 dB, and the sound may have been limited already.
  maxReductionDb: 15,
};

/** The input of a job that reads a rendition. */
export function mp3Input(name: string): FfmpegJob['input'] {
  return { name, options: [...QUIET, '-f', 'mp3'] };
}
