// Enhances pages that also work without scripts: copy buttons, a menu that closes when it loses the focus, a dialog
// instead of the confirmation page, and times in the visitor's time zone.

const format = new Intl.DateTimeFormat(document.body.dataset.intl, {
  dateStyle: 'medium',
  timeStyle: 'short',
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

// Stored avatar addresses stop working when the user changes their avatar.
for (const picture of document.querySelectorAll('img[data-letter]')) {
  const showLetter = () => {
    const { className, dataset } = picture;
    const letter = element(
      'span',
      { class: `${className} avatar-letter`, 'aria-hidden': 'true' },
      dataset.letter,
    );
    picture.replaceWith(letter);
  };
  if (picture.complete && picture.naturalWidth === 0) showLetter();
  else picture.addEventListener('error', showLetter);
}

document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-confirm]') : null;
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || typeof HTMLDialogElement === 'undefined')
    return;
  event.preventDefault();
  openConfirmDialog(link);
});

/** Shows the link's confirmation page as a dialog; confirming sends the same POST. */
function openConfirmDialog(link) {
  const dialog = element('dialog', { class: 'dialog', 'aria-labelledby': 'dialog-title' });
  const form = element('form', { method: 'post', action: link.getAttribute('href'), class: 'row' });
  const cancel = element(
    'button',
    { type: 'button', class: 'button button-quiet' },
    document.body.dataset.cancel,
  );
  const confirm = element(
    'button',
    { type: 'submit', class: 'button button-danger' },
    link.dataset.confirmButton,
  );
  form.append(
    element('input', { type: 'hidden', name: 'csrf_token', value: link.dataset.csrf }),
    confirm,
    cancel,
  );
  dialog.append(
    element('h2', { id: 'dialog-title' }, link.dataset.confirm),
    element('p', {}, link.dataset.confirmLead),
    form,
  );
  cancel.addEventListener('click', () => dialog.close());
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close();
  });
  dialog.addEventListener('close', () => {
    dialog.remove();
    link.focus();
  });
  document.body.append(dialog);
  dialog.showModal();
  cancel.focus();
}

function element(name, attributes, text = '') {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.textContent = text;
  return node;
}

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
