// Keeps pages about servers up to date: fetches the page again and changes what the server changed since the last time.
// With a mouse, connect buttons open the game directly; on a phone they open the page with instructions.

const REFRESH_MS = 15_000;
const live = document.querySelector('[data-live]');
// The content as the server sent it. This script runs before pages.js, which changes the content: it shows buttons and
// converts times.
let served = live.cloneNode(true);
for (const details of served.querySelectorAll('details')) details.open = false;
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
    // The server is no longer listed: its page says so.
    if (response.status === 404) return location.reload();
    if (!response.ok) throw new Error(String(response.status));
    const page = new DOMParser().parseFromString(await response.text(), 'text/html');
    // Another language was chosen in another tab: the text around the content has to change as well.
    if (page.documentElement.lang !== document.documentElement.lang) return location.reload();
    const next = page.querySelector('[data-live]');
    if (!next) throw new Error('the response is another page');
    const focused = live.contains(document.activeElement) ? placeOf(document.activeElement) : undefined;
    const openPlaces = [...live.querySelectorAll('details[open]')].map(placeOf);
    update(live, served, next);
    served = next;
    refreshedAt = Date.now();
    document.querySelector('.live-lost')?.remove();
    useSteamLinks();
    document.dispatchEvent(new Event('content-changed'));
    for (const place of openPlaces) find(place)?.setAttribute('open', '');
    // Last: a button cannot be focused before pages.js has shown it.
    if (focused && !live.contains(document.activeElement)) find(focused)?.focus({ preventScroll: true });
  } catch {
    showLost();
  } finally {
    isRefreshing = false;
  }
}

/**
 * Changes an element only where the new content from the server differs from the old, so that focus, selection, open
 * details and what other scripts changed are kept everywhere else.
 */
function update(element, old, next) {
  if (old.isEqualNode(next)) return;
  copyAttributes(element, old, next);
  if (isSameShape(old, next) && hasSameChildren(element, old)) {
    const children = [...element.children];
    for (const [index, child] of children.entries()) update(child, old.children[index], next.children[index]);
  } else {
    element.replaceChildren(...document.importNode(next, true).childNodes);
  }
}

function copyAttributes(element, old, next) {
  for (const { name } of old.attributes) if (!next.hasAttribute(name)) element.removeAttribute(name);
  for (const { name, value } of next.attributes) {
    if (old.getAttribute(name) !== value) element.setAttribute(name, value);
  }
}

/** Whether the two have the same own text and the same children. */
function isSameShape(old, next) {
  return textsOf(old) === textsOf(next) && hasSameChildren(old, next);
}

/** Whether the two have child elements with the same tags and ids in the same order. */
function hasSameChildren(one, other) {
  return (
    one.children.length === other.children.length &&
    [...one.children].every(
      (child, index) =>
        child.tagName === other.children[index].tagName && child.id === other.children[index].id,
    )
  );
}

function textsOf(element) {
  return [...element.childNodes]
    .filter((node) => node.nodeType === Node.TEXT_NODE)
    .map((node) => node.data)
    .join('|');
}

/** Where an element is, even after it is replaced: its index among those of its kind in the closest element with an id. */
function placeOf(element) {
  const frame = element.parentElement.closest('[id]');
  const kind = kindOf(element);
  return { id: frame.id, kind, index: [...frame.querySelectorAll(kind)].indexOf(element) };
}

function find({ id, kind, index }) {
  return document.getElementById(id)?.querySelectorAll(kind)[index];
}

/** A selector for elements with the same purpose. */
function kindOf(element) {
  if (element.dataset.copy) return `[data-copy="${CSS.escape(element.dataset.copy)}"]`;
  if (element.dataset.steam) return '[data-steam]';
  const href = element.getAttribute('href');
  return href === null ? element.tagName : `[href="${CSS.escape(href)}"]`;
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
