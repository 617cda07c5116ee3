import { open, stat } from 'node:fs/promises';

/** The format of decoded audio between the steps: interleaved, 32-bit float, little-endian. */
export type PcmFormat = { sampleRate: number; channels: 1 | 2 };

/** The format that every upload is decoded to. */
export const DECODED_FORMAT: PcmFormat = { sampleRate: 44_100, channels: 2 };
/** About a millisecond: the precision of trimming silence. */
export const FRAMES_PER_BLOCK = 44;
const FRAMES_PER_READ = 512 * FRAMES_PER_BLOCK;

export type PcmScan = {
  frames: number;
  /** Largest absolute sample of each block of `FRAMES_PER_BLOCK` frames; 1 is full scale. */
  blockPeaks: Float32Array;
  /** Samples that are NaN or infinite, the sign of a damaged file. */
  invalidSamples: number;
};

/** The nearest whole number of frames. */
export function toFrames(seconds: number, sampleRate: number): number {
  return Math.round(seconds * sampleRate);
}

/** The options with which ffmpeg reads or writes this format. */
export function pcmOptions({ sampleRate, channels }: PcmFormat): string[] {
  return ['-f', 'f32le', '-ar', String(sampleRate), '-ac', String(channels)];
}

/**
 * Reads frames in small steps, so that the event loop is not blocked. All steps but the last are whole blocks. Each step
 * overwrites the samples of the one before.
 */
async function* readPcm(
  path: string,
  { frames, bytesPerFrame }: { frames: number; bytesPerFrame: number },
): AsyncGenerator<Float32Array, void> {
  const buffer = new Uint8Array(FRAMES_PER_READ * bytesPerFrame);
  const file = await open(path, 'r');
  try {
    for (let frame = 0; frame < frames; frame += FRAMES_PER_READ) {
      const lengthBytes = Math.min(FRAMES_PER_READ, frames - frame) * bytesPerFrame;
      const { bytesRead } = await file.read(buffer, 0, lengthBytes, frame * bytesPerFrame);
      if (bytesRead < lengthBytes) throw new Error(`${path} is shorter than it was`);
      yield new Float32Array(buffer.buffer, 0, lengthBytes / Float32Array.BYTES_PER_ELEMENT);
    }
  } finally {
    await file.close();
  }
}

/** Finds the peaks of decoded audio. */
export async function scanPcm(path: string, { channels }: PcmFormat): Promise<PcmScan> {
  const { size } = await stat(path);
  const bytesPerFrame = channels * Float32Array.BYTES_PER_ELEMENT;
  const frames = Math.floor(size / bytesPerFrame);
  const samplesPerBlock = FRAMES_PER_BLOCK * channels;
  const blockPeaks = new Float32Array(Math.ceil(frames / FRAMES_PER_BLOCK));
  let block = 0;
  let invalidSamples = 0;
  for await (const samples of readPcm(path, { frames, bytesPerFrame })) {
    for (let from = 0; from < samples.length; from += samplesPerBlock) {
      const to = Math.min(from + samplesPerBlock, samples.length);
      let peak = 0;
      for (let index = from; index < to; index++) {
        const magnitude = Math.abs(samples[index] ?? 0);
        if (magnitude > peak) peak = magnitude;
        // Also true for NaN.
        if (!(magnitude < Number.POSITIVE_INFINITY)) invalidSamples++;
      }
      blockPeaks[block++] = peak;
    }
  }
  return { frames, blockPeaks, invalidSamples };
}

/** The largest absolute sample of the blocks from frame `start` to `end`; 1 is full scale. */
export function computePeak(
  { blockPeaks, frames }: PcmScan,
  { start, end }: { start: number; end: number } = { start: 0, end: frames },
): number {
  const blocks = blockPeaks.subarray(Math.floor(start / FRAMES_PER_BLOCK), Math.ceil(end / FRAMES_PER_BLOCK));
  return blocks.reduce((largest, value) => Math.max(largest, value), 0);
}

/** The outline of a sound: `bars` peaks from 0 to 100, for drawing. */
export function toWaveform(blockPeaks: Float32Array, bars: number): number[] {
  return Array.from({ length: bars }, (_, bar) => {
    const from = Math.floor((bar * blockPeaks.length) / bars);
    const to = Math.max(from + 1, Math.floor(((bar + 1) * blockPeaks.length) / bars));
    const peak = blockPeaks.subarray(from, to).reduce((largest, value) => Math.max(largest, value), 0);
    return Math.min(100, Math.round(peak * 100));
  });
}
