/** Audio that the tests make themselves: planar float samples, and a WAV writer. */

/** One array per channel, all as long; 1 is full scale. */
export type Audio = { sampleRate: number; channels: Float32Array[] };

export type Shape = (seconds: number, channel: number) => number;

/** Samples a function of time. */
export function anAudio(options: {
  seconds: number;
  shape: Shape;
  sampleRate?: number;
  channels?: number;
}): Audio {
  const { seconds, shape, sampleRate = 44_100, channels = 2 } = options;
  const length = Math.round(seconds * sampleRate);
  return {
    sampleRate,
    channels: Array.from({ length: channels }, (_, channel) =>
      Float32Array.from({ length }, (_, frame) => shape(frame / sampleRate, channel)),
    ),
  };
}

export function sine(hertz: number, amplitude: number): Shape {
  return (seconds) => amplitude * Math.sin(2 * Math.PI * hertz * seconds);
}

/** Noise that is the same in every run (mulberry32). */
export function noise(amplitude: number, seed = 1): Shape {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return amplitude * (((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 31 - 1);
  };
}

/** Voiced syllables of 200 ms with pauses, over a buzz with three formants. */
export function speechLike(amplitude: number): Shape {
  return (seconds) => {
    const syllable = Math.max(0, Math.sin(2 * Math.PI * 2.5 * seconds)) * (seconds % 2.1 < 1.5 ? 1 : 0);
    const pitch = 120 + 20 * Math.sin(2 * Math.PI * 0.7 * seconds);
    const buzz = [1, 4, 5, 11, 20, 21].reduce(
      (sum, harmonic) => sum + Math.sin(2 * Math.PI * pitch * harmonic * seconds) / harmonic ** 0.5,
      0,
    );
    return (amplitude * syllable * buzz) / 3;
  };
}

/** A chord with a kick and a hi-hat at 120 beats a minute. */
export function musicLike(amplitude: number): Shape {
  const hiss = noise(1, 7);
  return (seconds, channel) => {
    const beat = seconds % 0.5;
    const chord = [220, 277.2, 329.6, 440].reduce(
      (sum, hertz, index) => sum + Math.sin(2 * Math.PI * hertz * (1 + channel * 0.001) * seconds + index),
      0,
    );
    const kick = Math.sin(2 * Math.PI * 55 * beat) * Math.exp(-beat * 18) * 2.5;
    const hat = hiss(seconds, channel) * Math.exp(-((seconds + 0.25) % 0.5) * 60);
    return (amplitude * (chord * 0.6 + kick + hat)) / 4;
  };
}

/** A drum twice a second that is gone after 50 ms: peaks some 19 dB over the loudness. */
export function drums(amplitude: number): Shape {
  return (seconds) => {
    const beat = seconds % 0.5;
    return amplitude * Math.sin(2 * Math.PI * 180 * beat) * Math.exp(-beat * 45);
  };
}

/** The parts one after the other; all of one rate and channel count. */
export function sequence(...parts: Audio[]): Audio {
  const [first] = parts;
  if (first === undefined) throw new Error('a sequence needs parts');
  return {
    sampleRate: first.sampleRate,
    channels: first.channels.map((_, channel) => {
      const pieces = parts.map((part) => part.channels[channel] ?? new Float32Array());
      return new Float32Array(Bun.concatArrayBuffers(pieces));
    }),
  };
}

export function silence(seconds: number, options: { sampleRate?: number; channels?: number } = {}): Audio {
  return anAudio({ seconds, shape: () => 0, ...options });
}

/** A WAV file: 16-bit (clipped at full scale), or 32-bit float. */
export function toWav(audio: Audio, encoding: 's16' | 'f32' = 'f32'): Uint8Array {
  const frames = audio.channels[0]?.length ?? 0;
  const width = encoding === 's16' ? 2 : 4;
  const data = new DataView(new ArrayBuffer(frames * audio.channels.length * width));
  audio.channels.forEach((samples, channel) => {
    samples.forEach((sample, frame) => {
      const at = (frame * audio.channels.length + channel) * width;
      if (encoding === 'f32') data.setFloat32(at, sample, true);
      else data.setInt16(at, Math.round(Math.max(-1, Math.min(1, sample)) * 32_767), true);
    });
  });
  return joinBytes(
    wavHeader({
      format: encoding === 's16' ? 1 : 3,
      channels: audio.channels.length,
      sampleRate: audio.sampleRate,
      bits: width * 8,
      dataBytes: data.byteLength,
    }),
    new Uint8Array(data.buffer),
  );
}

export function wavHeader(options: {
  format: number;
  channels: number;
  sampleRate: number;
  bits: number;
  dataBytes: number;
}): Uint8Array {
  const { format, channels, sampleRate, bits, dataBytes } = options;
  const frameBytes = (channels * bits) / 8;
  const header = Buffer.alloc(44);
  header.write('RIFF', 0);
  header.writeUInt32LE(Math.min(0xffffffff, 36 + dataBytes), 4);
  header.write('WAVEfmt ', 8);
  header.writeUInt32LE(16, 16);
  header.writeUInt16LE(format, 20);
  header.writeUInt16LE(channels, 22);
  header.writeUInt32LE(sampleRate, 24);
  header.writeUInt32LE(Math.min(0xffffffff, sampleRate * frameBytes), 28);
  header.writeUInt16LE(frameBytes & 0xffff, 32);
  header.writeUInt16LE(bits, 34);
  header.write('data', 36);
  header.writeUInt32LE(dataBytes, 40);
  return new Uint8Array(header);
}

export function joinBytes(...parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Bun.concatArrayBuffers(parts, Number.POSITIVE_INFINITY, false));
}

/** Big-endian numbers of 32 bits. */
export function uint32s(...values: number[]): Uint8Array {
  return new Uint8Array(Buffer.from(Uint32Array.from(values).buffer).swap32());
}
