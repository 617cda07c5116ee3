// Keeps a page about servers up to date: reads the page again and replaces what has changed. Buttons that lead into the
// game open it at once where there is a mouse; on a phone they lead to the page that tells how.

const REFRESH_MS = 15_000;
const live = document.querySelector('[data-live]');
let refreshedAt = Date.now();
let isRefreshing = false;

openAtOnce();
setInterval(refresh, REFRESH_MS);
document.addEventListener('visibilitychange', () => {
  if (Date.now() - refreshedAt > REFRESH_MS) refresh();
});

async function refresh() {
  if (document.hidden || isRefreshing) return;
  isRefreshing = true;
  try {
    const response = await fetch(location.href, { headers: { accept: 'text/html' }, cache: 'no-cache' });
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    const next = page.querySelector('[data-live]');
    if (!next) throw new Error('not the page');
    replace(live, next);
    refreshedAt = Date.now();
    document.querySelector('.live-lost')?.remove();
    openAtOnce();
    document.dispatchEvent(new Event('content-changed'));
  } catch {
    showLost();
  } finally {
    isRefreshing = false;
  }
}

/** Element by element, so that what somebody reads, has opened, selected or focused stays where it can. */
function replace(old, next) {
  if (old.cloneNode(false).isEqualNode(next.cloneNode(false)) && isSameShape(old, next)) {
    const children = [...old.children];
    for (const [index, child] of [...next.children].entries()) replace(children[index], child);
    return;
  }
  const isFocused = old.contains(document.activeElement) && document.activeElement !== document.body;
  const href = isFocused ? document.activeElement.getAttribute('href') : null;
  old.replaceWith(next);
  if (href) next.querySelector(`a[href="${CSS.escape(href)}"]`)?.focus();
}

/** Whether the two differ in their elements alone, if at all, and those come in the same order. */
function isSameShape(old, next) {
  if (old.children.length !== next.children.length) return false;
  if (next.children.length === 0) return old.textContent === next.textContent;
  return (
    textsOf(old) === textsOf(next) &&
    [...next.children].every(
      (child, index) => child.tagName === old.children[index].tagName && child.id === old.children[index].id,
    )
  );
}

function textsOf(element) {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.data)
    .join('|');
}

function showLost() {
  if (document.querySelector('.live-lost')) return;
  const line = document.createElement('p');
  line.className = 'warning live-lost';
  line.setAttribute('role', 'status');
  line.textContent = live.dataset.lost;
  live.before(line);
}

function openAtOnce() {
  if (!matchMedia('(any-pointer: fine)').matches) return;
  for (const link of document.querySelectorAll('a[data-steam]')) link.href = link.dataset.steam;
}
