// Enhances the card of the round-end sound, which also works without scripts: upload progress, the processing steps,
// and the played part of the waveform.

const form = document.querySelector('[data-sound-upload]');
const progress = document.querySelector('[data-sound-progress]');
const POLL_MS = 1000;

if (form) {
  form.addEventListener('submit', send);
  const input = form.querySelector('[type="file"]');
  const name = form.querySelector('[data-file-name]');
  const none = name.textContent;
  const showFileName = () => {
    name.textContent = input.files[0]?.name ?? none;
  };
  input.addEventListener('change', showFileName);
  // The browser may restore the selected file after a reload.
  showFileName();
}
if (progress) pollStatus();
for (const player of document.querySelectorAll('.sound audio')) showPlayback(player);

function send(event) {
  const [file] = form.querySelector('[type="file"]').files;
  if (!file) return;
  event.preventDefault();
  if (file.size > Number(form.dataset.maxBytes)) {
    showMessage(form.dataset.tooLarge, true);
    return;
  }
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
    else showMessage(request.response?.message ?? form.dataset.failed, true);
  });
  request.addEventListener('error', () => showMessage(form.dataset.failed, true));
  // pages.js disables the button only when the browser itself submits the form.
  form.querySelector('button').disabled = true;
  bar.value = 0;
  percent.textContent = '0 %';
  bar.parentElement.hidden = false;
  showMessage(form.dataset.uploading, false);
  request.send(new FormData(form));
}

function showMessage(text, isEnd) {
  const message = form.querySelector('.sound-message');
  message.textContent = text;
  message.hidden = false;
  message.classList.toggle('sound-message-bad', isEnd);
  if (!isEnd) return;
  form.querySelector('.sound-sending').hidden = true;
  form.querySelector('button').disabled = false;
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
    // The session has ended, or the member was blocked: the page says so.
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
