import { open } from 'node:fs/promises';

/** How decoded audio lies on the disk between the steps: interleaved stereo, 32-bit float, little-endian. */
export const SAMPLE_RATE = 44_100;
const CHANNELS = 2;
const BYTES_PER_FRAME = CHANNELS * Float32Array.BYTES_PER_ELEMENT;
/** About a millisecond: how finely silence is cut. */
export const FRAMES_PER_BLOCK = 44;
const BLOCK_BYTES = FRAMES_PER_BLOCK * BYTES_PER_FRAME;
const BLOCKS_PER_READ = 512;

export type PcmScan = {
  frames: number;
  /** Largest absolute sample of each block of `FRAMES_PER_BLOCK` frames; 1 is full scale. */
  blockPeaks: Float32Array;
  /** Samples that are no number: the sign of a damaged file. */
  invalidSamples: number;
};

/** Reads decoded audio in small steps, so that the event loop stays free. */
export async function scanPcm(path: string, options: { maxFrames?: number } = {}): Promise<PcmScan> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const frames = Math.min(
      Math.floor(size / BYTES_PER_FRAME),
      options.maxFrames ?? Number.POSITIVE_INFINITY,
    );
    const blockPeaks = new Float32Array(Math.ceil(frames / FRAMES_PER_BLOCK));
    const buffer = new Uint8Array(BLOCKS_PER_READ * BLOCK_BYTES);
    let invalidSamples = 0;
    for (let block = 0; block < blockPeaks.length; block += BLOCKS_PER_READ) {
      const position = block * BLOCK_BYTES;
      const wanted = Math.min(buffer.length, frames * BYTES_PER_FRAME - position);
      const { bytesRead } = await file.read(buffer, 0, wanted, position);
      const samples = new Float32Array(buffer.buffer, 0, Math.floor(bytesRead / 4));
      for (let index = 0; index < samples.length; index++) {
        const magnitude = Math.abs(samples[index] ?? 0);
        if (!Number.isFinite(magnitude)) invalidSamples++;
        const at = block + Math.floor(index / (FRAMES_PER_BLOCK * CHANNELS));
        if (magnitude > (blockPeaks[at] ?? 0)) blockPeaks[at] = magnitude;
      }
    }
    return { frames, blockPeaks, invalidSamples };
  } finally {
    await file.close();
  }
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
