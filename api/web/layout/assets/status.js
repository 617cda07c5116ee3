// Keeps pages about servers up to date: fetches the page again and replaces the elements that changed. With a mouse,
// connect buttons open the game directly; on a phone they open the page with instructions.

const REFRESH_MS = 15_000;
const live = document.querySelector('[data-live]');
let refreshedAt = Date.now();
let isRefreshing = false;

useSteamLinks();
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
    useSteamLinks();
    document.dispatchEvent(new Event('content-changed'));
  } catch {
    showLost();
  } finally {
    isRefreshing = false;
  }
}

/** Replaces only the elements that changed, so that open details, the selection and the focus are kept if possible. */
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

/** Whether the two have the same own text, and child elements with the same tags and ids in the same order. */
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

function useSteamLinks() {
  if (!matchMedia('(any-pointer: fine)').matches) return;
  for (const link of document.querySelectorAll('a[data-steam]')) link.href = link.dataset.steam;
}
