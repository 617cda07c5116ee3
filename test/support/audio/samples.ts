/** One channel of samples, by their number. */
export function toSamples(length: number, shape: (frame: number, channel: number) => number): Float32Array {
  return Float32Array.from({ length }, (_, frame) => shape(frame, 0));
}

/** Adds samples to a meter, so many at once. */
export function addInParts(
  meter: { add(samples: Float32Array): void },
  samples: Float32Array,
  samplesAtOnce: number,
): void {
  for (let at = 0; at < samples.length; at += samplesAtOnce) {
    meter.add(samples.subarray(at, at + samplesAtOnce));
  }
}
