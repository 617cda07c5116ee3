const SAMPLE_RATE = 44_100;
/** An arpeggio in A minor, in hertz; one note every 300 ms. */
const NOTES_HZ = [220, 261.63, 329.63, 440, 523.25, 659.26, 880, 659.26, 523.25, 440, 659.26, 880];
const NOTE_SECONDS = 0.3;
const HEADER_BYTES = 44;

/** A short tune as a WAV file (mono, 16 bit), the round-end sound of the demo's owner. */
export function buildDemoTune(): Uint8Array<ArrayBuffer> {
  const samplesPerNote = Math.round(SAMPLE_RATE * NOTE_SECONDS);
  const dataBytes = NOTES_HZ.length * samplesPerNote * 2;
  const view = new DataView(new ArrayBuffer(HEADER_BYTES + dataBytes));
  writeHeader(view, dataBytes);
  NOTES_HZ.forEach((hertz, note) => {
    for (let i = 0; i < samplesPerNote; i++) {
      const seconds = i / SAMPLE_RATE;
      const phase = 2 * Math.PI * hertz * seconds;
      const pluck = Math.exp(-4 * seconds) * Math.min(seconds / 0.005, 1);
      const sample = (Math.sin(phase) + 0.4 * Math.sin(2 * phase) + 0.2 * Math.sin(3 * phase)) * pluck * 0.5;
      view.setInt16(HEADER_BYTES + (note * samplesPerNote + i) * 2, Math.round(sample * 32_000), true);
    }
  });
  return new Uint8Array(view.buffer);
}

/** RIFF WAVE, PCM. @see http://soundfile.sapp.org/doc/WaveFormat/ */
function writeHeader(view: DataView, dataBytes: number): void {
  const writeText = (at: number, text: string) => {
    for (let i = 0; i < text.length; i++) view.setUint8(at + i, text.charCodeAt(i));
  };
  writeText(0, 'RIFF');
  view.setUint32(4, HEADER_BYTES - 8 + dataBytes, true);
  writeText(8, 'WAVEfmt ');
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, SAMPLE_RATE, true);
  view.setUint32(28, SAMPLE_RATE * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  writeText(36, 'data');
  view.setUint32(40, dataBytes, true);
}
