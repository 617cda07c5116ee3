// Enhances pages that also work without scripts: copy buttons, a menu that closes when it loses the focus, modal
// dialogs, and times in the visitor's time zone.

const format = new Intl.DateTimeFormat(document.body.dataset.intl, {
  day: 'numeric',
  month: document.body.dataset.months,
  year: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
});

prepare();
// Dispatched by scripts that replace content of the page.
document.addEventListener('content-changed', prepare);

/** Shows the copy buttons, and formats times in the visitor's time zone. */
function prepare() {
  for (const button of document.querySelectorAll('[data-copy][hidden]')) {
    button.hidden = !navigator.clipboard || !document.getElementById(button.dataset.copy);
  }
  for (const time of document.querySelectorAll('time[data-local]')) {
    const text = format.format(new Date(time.dateTime));
    if (time.dataset.local === 'text') time.textContent = text;
    else time.title = text;
  }
}

document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('[data-copy]') : null;
  const label = button?.querySelector('[data-copy-label]');
  const source = button && document.getElementById(button.dataset.copy);
  if (!label || !source) return;
  await navigator.clipboard.writeText(source.textContent.trim());
  button.dataset.label ??= label.textContent;
  label.textContent = document.body.dataset.copied;
  label.setAttribute('role', 'status');
  button.dataset.done = String(Number(button.dataset.done ?? 0) + 1);
  const press = button.dataset.done;
  setTimeout(() => {
    if (button.dataset.done !== press) return;
    label.textContent = button.dataset.label;
    delete button.dataset.done;
  }, 2500);
});

for (const menu of document.querySelectorAll('[data-menu]')) {
  document.addEventListener('click', ({ target }) => {
    if (!menu.contains(target)) menu.open = false;
  });
  // Without a related target, another window got the focus, and the menu stays open.
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(relatedTarget)) menu.open = false;
  });
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !menu.open) return;
    menu.open = false;
    menu.querySelector('summary').focus();
  });
}

// Without scripts, buttons open their dialogs as popovers; with this script, as modal dialogs.
document.addEventListener('click', (event) => {
  const { target } = event;
  if (!(target instanceof Element)) return;
  const id = target.closest('[popovertarget]')?.getAttribute('popovertarget');
  const dialog = id ? document.getElementById(id) : target;
  if (!(dialog instanceof HTMLDialogElement)) return;
  // A dialog that was opened before this script had loaded stays a popover.
  if (CSS.supports('selector(:popover-open)') && dialog.matches(':popover-open')) return;
  event.preventDefault();
  // The target of a click outside the content is the dialog itself.
  if (dialog.open) dialog.close();
  else dialog.showModal();
});

// Disable submit buttons while a form is being sent, so that a second click does not submit it again.
document.addEventListener('submit', (event) => {
  if (event.defaultPrevented) return;
  for (const button of event.target.querySelectorAll('button[type="submit"]')) {
    setTimeout(() => {
      button.disabled = true;
    });
    // Enable the button again when the page is restored from the back/forward cache.
    addEventListener('pageshow', () => {
      button.disabled = false;
    });
  }
});
