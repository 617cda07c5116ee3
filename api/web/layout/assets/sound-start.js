// The waveform of the selected file, with a marker for the start of the cut. The marker is a range input over the
// waveform, so that it works by mouse, touch and keyboard. The submitted number field also works without this script.

const field = document.querySelector('[data-sound-start]');
const BARS = 300;
const HALF_HEIGHT = 32;
const BAR_WIDTH = 4;
/** The step of an arrow key. */
const STEP_MS = 100;
/** The same silence detection as on the server. */
const BLOCKS_PER_SECOND = 1000;
const BELOW_PEAK = 10 ** (-45 / 20);
const FLOOR = 10 ** (-60 / 20);
/** A decoded track takes ten times its file size or more in memory. */
const MAX_BYTES = 32 * 1024 * 1024;
const DECODED_RATE = 8000;

if (field) {
  const file = document.querySelector('[data-sound-upload] [type="file"]');
  const number = field.querySelector('input');
  file.addEventListener('change', () => choose(file.files[0], number));
  if (file.files[0]) choose(file.files[0], number);
}

let latestSelection = 0;

async function choose(file, number) {
  const selection = ++latestSelection;
  field.querySelector('.start-marker')?.remove();
  // What was entered before a file was chosen stays; the start in another file means nothing in this one.
  if (selection > 1) number.value = '0';
  const peaks = file && file.size <= MAX_BYTES ? await readPeaks(file).catch(() => null) : null;
  // Another file was selected while this one was being decoded, or the browser cannot decode it.
  if (selection !== latestSelection || !peaks) return;
  field.append(createMarker(peaks, number));
}

/** The peak of each millisecond, without leading and trailing silence; null when all of it is silent. */
async function readPeaks(file) {
  const context = new OfflineAudioContext(1, 1, DECODED_RATE);
  const audio = await context.decodeAudioData(await file.arrayBuffer());
  const blockFrames = audio.sampleRate / BLOCKS_PER_SECOND;
  const peaks = new Float32Array(Math.ceil(audio.length / blockFrames));
  for (let channel = 0; channel < audio.numberOfChannels; channel++) {
    const samples = audio.getChannelData(channel);
    for (let frame = 0; frame < samples.length; frame++) {
      const block = Math.floor(frame / blockFrames);
      peaks[block] = Math.max(peaks[block], Math.abs(samples[frame]));
    }
  }
  const loudest = peaks.reduce((most, peak) => Math.max(most, peak), 0);
  const isAudible = (peak) => peak > Math.max(loudest * BELOW_PEAK, FLOOR);
  const first = peaks.findIndex(isAudible);
  return first === -1 ? null : peaks.subarray(first, peaks.findLastIndex(isAudible) + 1);
}

function createMarker(peaks, number) {
  const lastMs = Math.min(Number(number.max), Math.max(0, peaks.length - STEP_MS));
  const marker = document.createElement('div');
  marker.className = 'start-marker';
  const waveform = draw(peaks);
  const range = document.createElement('input');
  Object.assign(range, { type: 'range', min: 0, max: lastMs, step: STEP_MS });
  range.setAttribute('aria-label', field.dataset.markerLabel);
  const output = document.createElement('output');
  marker.append(waveform, range, output);

  const keptMs = Number(field.dataset.firstSeconds) * 1000;
  const seconds = new Intl.NumberFormat(document.body.dataset.intl, {
    style: 'unit',
    unit: 'second',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  const show = (startMs) => {
    const from = (startMs / peaks.length) * 100;
    const to = Math.min(100, ((startMs + keptMs) / peaks.length) * 100);
    waveform.querySelector('.waveform-played').style.clipPath = `inset(0 ${100 - to}% 0 ${from}%)`;
    output.textContent = seconds.format(startMs / 1000);
    range.setAttribute('aria-valuetext', output.textContent);
  };
  const showNumber = () => {
    range.value = number.value;
    show(Math.min(lastMs, Math.max(0, Number(number.value) || 0)));
  };
  range.addEventListener('input', () => {
    number.value = range.value;
    show(Number(range.value));
  });
  number.addEventListener('input', showNumber);
  showNumber();
  return marker;
}

function draw(peaks) {
  const bars = Math.min(BARS, peaks.length);
  const heights = Array.from({ length: bars }, (_, bar) => {
    const part = peaks.subarray(
      Math.floor((bar * peaks.length) / bars),
      Math.floor(((bar + 1) * peaks.length) / bars),
    );
    return part.reduce((most, peak) => Math.max(most, peak), 0);
  });
  const loudest = Math.max(...heights);
  const path = heights
    .map((height, bar) => {
      const half = Math.max(1, Math.round((height / loudest) * HALF_HEIGHT));
      return `M${bar * BAR_WIDTH + 2} ${HALF_HEIGHT - half}v${half * 2}`;
    })
    .join('');
  const svg = createSvg('svg', {
    class: 'waveform',
    viewBox: `0 0 ${bars * BAR_WIDTH} ${HALF_HEIGHT * 2}`,
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  svg.append(createSvg('path', { d: path }), createSvg('path', { d: path, class: 'waveform-played' }));
  return svg;
}

function createSvg(name, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
