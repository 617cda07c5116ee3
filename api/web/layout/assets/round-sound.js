// Enhances the card of the round-end sound, which also works without scripts: the waveform of the chosen file with a
// marker for the start of the cut, upload progress, the processing steps, and the played part of the published sound.

const form = document.querySelector('[data-sound-upload]');
const progress = document.querySelector('[data-sound-progress]');
const POLL_MS = 1000;
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
const MAX_DECODED_BYTES = 32 * 1024 * 1024;
const DECODED_RATE = 8000;

/** Plays the chosen file, which is one only for as long as it is chosen. */
const preview = new Audio();
let fileAddress = '';
let latestSelection = 0;

if (form) {
  const input = form.querySelector('[type="file"]');
  const start = form.querySelector('[data-sound-start] [type="text"]');
  form.addEventListener('submit', send);
  input.addEventListener('change', () => {
    // What was entered for another file means nothing in this one.
    start.value = start.defaultValue;
    choose(input, start);
  });
  // The browser may restore the selected file after a reload.
  if (input.files[0]) choose(input, start);
}
if (progress) pollStatus();
for (const player of document.querySelectorAll('.sound audio')) showPlayback(player);

async function choose(input, start) {
  const selection = ++latestSelection;
  const [file] = input.files;
  const name = form.querySelector('[data-file-name]');
  name.dataset.none ??= name.textContent;
  name.textContent = file?.name ?? name.dataset.none;
  removePreview();
  for (const error of form.parentElement.querySelectorAll('.warning')) error.remove();
  showMessage('', true);
  const isTooLarge = file?.size > Number(form.dataset.maxBytes);
  // The stylesheet hides the rest of the form while the file is invalid.
  input.setCustomValidity(isTooLarge ? form.dataset.tooLarge : '');
  if (isTooLarge) showMessage(form.dataset.tooLarge, true);
  if (!file || isTooLarge || file.size > MAX_DECODED_BYTES) return;
  const reading = form.querySelector('[data-reading]');
  reading.hidden = false;
  const track = await readPeaks(file).catch(() => null);
  // Another file was selected while this one was being decoded.
  if (selection !== latestSelection) return;
  reading.hidden = true;
  if (track) showPreview(file, track, start);
}

function removePreview() {
  form.querySelector('.start-marker')?.remove();
  form.querySelector('[data-play]').hidden = true;
  form.querySelector('[data-reading]').hidden = true;
  preview.pause();
  URL.revokeObjectURL(fileAddress);
}

/**
 * The peak of each millisecond, and where the first sound is; null when all of it is silent. Rejects when the browser
 * cannot decode the file, which the server may accept all the same.
 */
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
  const firstMs = peaks.findIndex((peak) => peak > Math.max(loudest * BELOW_PEAK, FLOOR));
  return firstMs === -1 ? null : { peaks, firstMs };
}

/** Shows the waveform with the marker: a range input over it, so that it works by mouse, touch and keyboard. */
function showPreview(file, { peaks, firstMs }, start) {
  const field = form.querySelector('[data-sound-start]');
  const { intl } = document.body.dataset;
  const keptMs = Number(field.dataset.keptMs);
  const lastMs = Math.min(Number(field.dataset.latestMs), Math.max(0, peaks.length - STEP_MS));
  const marker = document.createElement('div');
  marker.className = 'start-marker';
  const waveform = draw(peaks);
  const range = document.createElement('input');
  Object.assign(range, { type: 'range', min: 0, max: lastMs, step: STEP_MS });
  range.setAttribute('aria-label', field.dataset.markerLabel);
  marker.append(waveform, range);
  field.prepend(marker);

  const seconds = new Intl.NumberFormat(intl, {
    style: 'unit',
    unit: 'second',
    minimumFractionDigits: 1,
    maximumFractionDigits: 1,
  });
  let fromMs = 0;
  const show = (startMs) => {
    preview.pause();
    // The server skips the silence before the first sound, too.
    fromMs = Math.max(startMs, firstMs);
    const from = (fromMs / peaks.length) * 100;
    const to = Math.min(100, ((fromMs + keptMs) / peaks.length) * 100);
    waveform.querySelector('.waveform-played').style.clipPath = `inset(0 ${100 - to}% 0 ${from}%)`;
    range.setAttribute('aria-valuetext', seconds.format(startMs / 1000));
  };
  const showTyped = () => {
    const startMs = Math.min(lastMs, parseTime(start.value));
    range.value = startMs;
    show(startMs);
  };
  range.addEventListener('input', () => {
    start.value = formatTime(Number(range.value), intl);
    show(Number(range.value));
  });
  start.oninput = showTyped;
  showTyped();

  const button = field.querySelector('[data-play]');
  fileAddress = URL.createObjectURL(file);
  button.hidden = false;
  button.onclick = () => {
    if (!preview.paused) return preview.pause();
    preview.src = `${fileAddress}#t=${fromMs / 1000},${(fromMs + keptMs) / 1000}`;
    preview.play().catch(() => {});
  };
  const { play, stop } = button.dataset;
  preview.onplay = () => {
    button.textContent = stop;
  };
  preview.onpause = () => {
    button.textContent = play;
  };
  preview.onerror = () => {
    button.hidden = true;
  };
}

/** Milliseconds of `1:07.5` or `67,5`; 0 for anything else, which the server refuses. */
function parseTime(text) {
  const [, minutes = 0, seconds = '0'] = /^\s*(?:(\d{1,2}):)?(\d+(?:[.,]\d+)?)\s*$/.exec(text) ?? [];
  return Number(minutes) * 60_000 + Number(seconds.replace(',', '.')) * 1000;
}

function formatTime(ms, intl) {
  const digits = { minimumIntegerDigits: 2, maximumFractionDigits: 1 };
  return `${Math.floor(ms / 60_000)}:${((ms % 60_000) / 1000).toLocaleString(intl, digits)}`;
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

function send(event) {
  const [file] = form.querySelector('[type="file"]').files;
  if (!file) return;
  event.preventDefault();
  preview.pause();
  const bar = form.querySelector('progress');
  const percent = form.querySelector('.sound-percent');
  const request = new XMLHttpRequest();
  request.open('POST', form.action);
  request.setRequestHeader('accept', 'application/json');
  request.responseType = 'json';
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    bar.value = (loaded / total) * 100;
    percent.textContent = `${Math.round(bar.value)} %`;
  });
  request.addEventListener('load', () => {
    if (request.status === 202) reload();
    else showMessage(request.response?.message ?? messageWithoutBody(request), true);
  });
  request.addEventListener('error', () => showMessage(form.dataset.failed, true));
  // pages.js disables the button only when the browser itself submits the form.
  form.querySelector('[type="submit"]').disabled = true;
  bar.value = 0;
  percent.textContent = '0 %';
  bar.parentElement.hidden = false;
  showMessage(form.dataset.uploading, false);
  request.send(new FormData(form));
}

/** The site's own responses say what went wrong; those of a proxy are pages of HTML. */
function messageWithoutBody({ status }) {
  return status === 413 ? form.dataset.refusedByProxy : form.dataset.failed;
}

function showMessage(text, isEnd) {
  const message = form.querySelector('.sound-message');
  message.textContent = text;
  message.hidden = text === '';
  message.classList.toggle('sound-message-bad', isEnd);
  if (!isEnd) return;
  form.querySelector('.sound-sending').hidden = true;
  form.querySelector('[type="submit"]').disabled = false;
}

async function pollStatus() {
  progress.querySelector('.sound-refresh').hidden = true;
  const steps = [...progress.querySelectorAll('[data-step]')];
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    const response = await fetch('/account/roundsound/status', {
      headers: { accept: 'application/json' },
      redirect: 'manual',
    }).catch(() => null);
    // The session has ended, or the user was blocked: the page says so.
    if (response?.type === 'opaqueredirect' || response?.status === 403) return reload();
    if (!response?.ok) continue;
    const { status } = await response.json();
    const at = steps.findIndex((step) => step.dataset.step === status);
    if (status === 'ready' || at === -1) return reload();
    for (const [index, step] of steps.entries()) {
      step.classList.toggle('step-done', index < at);
      if (index === at) step.setAttribute('aria-current', 'step');
      else step.removeAttribute('aria-current');
    }
  }
}

function reload() {
  // A page in response to a form would send that form again.
  if (location.pathname !== '/account') return location.replace('/account#sound');
  location.hash = 'sound';
  location.reload();
}

function showPlayback(player) {
  const waveform = player.parentElement.querySelector('.waveform');
  const played = waveform?.querySelector('.waveform-played');
  if (!played) return;
  const show = () => {
    const share = player.duration ? player.currentTime / player.duration : 0;
    played.style.clipPath = `inset(0 ${(1 - share) * 100}% 0 0)`;
    if (!player.paused) requestAnimationFrame(show);
  };
  for (const name of ['play', 'seeked', 'ended', 'pause']) player.addEventListener(name, show);
  waveform.addEventListener('click', (event) => {
    const box = waveform.getBoundingClientRect();
    const seek = () => {
      player.currentTime = ((event.clientX - box.left) / box.width) * player.duration;
    };
    if (player.duration) seek();
    else player.addEventListener('loadedmetadata', seek, { once: true });
    player.play();
  });
}
