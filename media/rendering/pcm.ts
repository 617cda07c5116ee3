import { open } from 'node:fs/promises';

/** The format of decoded audio between the steps: interleaved, 32-bit float, little-endian. */
export type PcmFormat = { sampleRate: number; channels: 1 | 2 };

/** The format that every upload is decoded to. */
export const DECODED_FORMAT: PcmFormat = { sampleRate: 44_100, channels: 2 };
/** About a millisecond: the precision of trimming silence. */
export const FRAMES_PER_BLOCK = 44;
const BLOCKS_PER_READ = 512;

export type PcmScan = {
  frames: number;
  /** Largest absolute sample of each block of `FRAMES_PER_BLOCK` frames; 1 is full scale. */
  blockPeaks: Float32Array;
  /** Samples that are NaN or infinite, the sign of a damaged file. */
  invalidSamples: number;
};

/** The options with which ffmpeg reads or writes this format. */
export function pcmOptions({ sampleRate, channels }: PcmFormat): string[] {
  return ['-f', 'f32le', '-ar', String(sampleRate), '-ac', String(channels)];
}

/** Scans decoded audio in small steps, so that the event loop is not blocked. */
export async function scanPcm(
  path: string,
  { channels, maxFrames = Number.POSITIVE_INFINITY }: { channels: 1 | 2; maxFrames?: number },
): Promise<PcmScan> {
  const bytesPerFrame = channels * Float32Array.BYTES_PER_ELEMENT;
  const blockBytes = FRAMES_PER_BLOCK * bytesPerFrame;
  const samplesPerBlock = FRAMES_PER_BLOCK * channels;
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const frames = Math.min(Math.floor(size / bytesPerFrame), maxFrames);
    const blockPeaks = new Float32Array(Math.ceil(frames / FRAMES_PER_BLOCK));
    const buffer = new Uint8Array(BLOCKS_PER_READ * blockBytes);
    let invalidSamples = 0;
    for (let block = 0; block < blockPeaks.length; block += BLOCKS_PER_READ) {
      const position = block * blockBytes;
      const wanted = Math.min(buffer.length, frames * bytesPerFrame - position);
      const { bytesRead } = await file.read(buffer, 0, wanted, position);
      const samples = new Float32Array(buffer.buffer, 0, Math.floor(bytesRead / 4));
      for (let at = 0; at * samplesPerBlock < samples.length; at++) {
        const end = Math.min((at + 1) * samplesPerBlock, samples.length);
        let peak = 0;
        for (let index = at * samplesPerBlock; index < end; index++) {
          const magnitude = Math.abs(samples[index] ?? 0);
          if (magnitude > peak) peak = magnitude;
          // Also true for NaN.
          if (!(magnitude < Number.POSITIVE_INFINITY)) invalidSamples++;
        }
        blockPeaks[block + at] = peak;
      }
    }
    return { frames, blockPeaks, invalidSamples };
  } finally {
    await file.close();
  }
}

/** The largest absolute sample of all or of a part (in frames, end exclusive); 1 is full scale. */
export function computePeak({ blockPeaks }: PcmScan, part?: { start: number; end: number }): number {
  const blocks = part
    ? blockPeaks.subarray(Math.floor(part.start / FRAMES_PER_BLOCK), Math.ceil(part.end / FRAMES_PER_BLOCK))
    : blockPeaks;
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
