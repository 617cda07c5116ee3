import type { JSX } from 'hono/jsx/jsx-runtime';
import { PostForm } from './layout/post-form.tsx';
import { type ErrorKey, textsOf } from './locales/texts.ts';
import { CSRF_FIELD, FORM_ID_FIELD, SENDER_FIELD, WRITTEN_FIELDS } from './request/forms/form.ts';
import type { PageError } from './request/page-error.ts';
import { isRead, type Visit } from './request/visit.ts';

/** What a visitor wrote in a form that was not processed. */
export type Unsent = {
  fields: ReadonlyMap<string, string>;
  written: readonly (readonly [name: string, text: string])[];
};

/** The failures after which the same form may succeed: after a sign-in, on a new page or later. */
const RETRYABLE: readonly ErrorKey[] = [
  'signed-out',
  'form-refused',
  'too-many-requests',
  'busy',
  'unavailable',
];

/** Finds what was written in a form that failed and may be sent again; undefined for every other request. */
export async function findUnsent(visit: Visit, { key }: PageError): Promise<Unsent | undefined> {
  if (isRead(visit.request) || !RETRYABLE.includes(key)) return undefined;
  const fields = await visit.readFields().catch(() => undefined);
  if (!fields?.has(FORM_ID_FIELD)) return undefined;
  const written = WRITTEN_FIELDS.map((name) => [name, fields.get(name) ?? ''] as const).filter(
    ([, text]) => text !== '',
  );
  return written.length === 0 ? undefined : { fields, written };
}

/**
 * What was written, with a button that sends it again: the id of the form keeps it from being processed twice. After
 * another person's sign-in it can only be copied.
 */
export function UnsentText({ unsent, visit }: { unsent: Unsent; visit: Visit }): JSX.Element {
  const { fields, written } = unsent;
  const t = textsOf(visit.language).unsent;
  const user = visit.session?.user;
  const isTheirs = user === undefined || fields.get(SENDER_FIELD) === user.steamId64;
  const texts = written.map(([name, text], index) => (
    <textarea name={name} rows={6} readonly={!isTheirs} aria-label={index === 0 ? t.title : name}>
      {`\n${text}`}
    </textarea>
  ));
  const names = written.map(([name]) => name);
  const others = [...fields].filter(([name]) => name !== CSRF_FIELD && !names.includes(name));
  // While nobody could be identified, the session of the form is the best guess.
  const csrfToken = visit.csrfToken ?? fields.get(CSRF_FIELD);
  return (
    <div class="create create-stacked" id="unsent">
      <h2>{t.title}</h2>
      <p class="hint">{isTheirs ? t.lead : t.notTheirs}</p>
      {isTheirs ? (
        <PostForm visit={{ ...visit, csrfToken }} action={visit.url.pathname} class="create create-stacked">
          {others.map(([name, value]) => (
            <input type="hidden" name={name} value={value} />
          ))}
          {texts}
          <button class="button button-primary" type="submit">
            {t.again}
          </button>
        </PostForm>
      ) : (
        texts
      )}
    </div>
  );
}
