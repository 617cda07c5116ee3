/** The nearest whole number of frames. */
export function toFrames(seconds: number, sampleRate: number): number {
  return Math.round(seconds * sampleRate);
}

/** Decibels as a ratio of amplitudes. */
export function toRatio(decibels: number): number {
  return 10 ** (decibels / 20);
}

/** A ratio of amplitudes in decibels. */
export function toDecibels(ratio: number): number {
  return 20 * Math.log10(ratio);
}
